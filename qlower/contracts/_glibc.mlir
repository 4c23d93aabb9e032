// Functions of the GNU C library (up to 2.40) on float32, and one on float64, for contracts and
// front ends whose system calls that library. It defines no rule. Each function takes the
// library's steps in its order; where that is in float64, so is the text. Infinities, NaN and
// zeros give what C says.

module attributes {contract.base = "_steps"} {

// ---------------------------------------------------------------- exponential

// sysdeps/ieee754/flt-32/e_exp2f_data.c: the bits of 2^(index / 32), less what the index adds
// to the exponent.
func.func private @power_of_two_entry(%index: i32) -> i64 attributes {contract.table = 32} {
  %entries = arith.constant dense<[
      4607182418800017408, 4607140297302181236, 4607100335213349135, 4607062579818421073,
      4607027079437701499, 4606993883449571754, 4606963042313658936, 4606934607594512097,
      4606908631985796885, 4606885169335019979, 4606864274668794914, 4606846004218661165,
      4606830415447468583, 4606817567076339586, 4606807519112221737, 4606800332876043653,
      4606796071031487437, 4606794797614391156, 4606796578062795143, 4606801479247646227,
      4606809569504174299, 4606820918663955941, 4606835598087680144, 4606853680698631517,
      4606875241016906669, 4606900355194379847, 4606929101050434204, 4606961558108475497,
      4606997807633245319, 4607037932668951391, 4607082018078232794, 4607130150581978432]> : tensor<32xi64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<32xi64>
}

// 2^(z / 32) of a z that isn't far beyond the exponents of float32. Adding 1.5 * 2^52 rounds z to
// a whole number, which the low bits then hold; a cubic polynomial has the rest.
func.func private @power_of_two(%z: f64) -> f32 {
  %shifted = arith.addf %z, 6755399441055744.0 : f64
  %k = arith.bitcast %shifted : f64 to i64
  %whole = arith.subf %shifted, 6755399441055744.0 : f64
  %r = arith.subf %z, %whole : f64
  %low_bits = arith.andi %k, 31 : i64
  %index = arith.trunci %low_bits : i64 to i32
  %entry = func.call @power_of_two_entry(%index) : (i32) -> i64
  %exponent = arith.shli %k, 47 : i64
  %bits = arith.addi %entry, %exponent : i64
  %power = arith.bitcast %bits : i64 to f64
  %third = arith.mulf 1.6938359250920212e-06, %r : f64
  %cubic = arith.addf %third, 0.00023459809789509004 : f64
  %first = arith.mulf 0.021660849396613134, %r : f64
  %line = arith.addf %first, 1.0 : f64
  %square = arith.mulf %r, %r : f64
  %curve = arith.mulf %cubic, %square : f64
  %y = arith.addf %curve, %line : f64
  %product = arith.mulf %y, %power : f64
  %result = arith.truncf %product : f64 to f32
}

// sysdeps/ieee754/flt-32/e_expf.c: 2^(x 32 / ln(2) / 32). Beyond the bounds the result is 0 or
// infinite, as it is at them.
func.func private @expf(%x: f32) -> f32 {
  %is_low = arith.cmpf olt, %x, -104.0 : f32
  %not_low = arith.select %is_low, -104.0, %x : f32
  %is_high = arith.cmpf ogt, %not_low, 89.0 : f32
  %bounded = arith.select %is_high, 89.0, %not_low : f32
  %z = arith.mulf 46.16624130844683, %bounded : f64
  %result = func.call @power_of_two(%z) : (f64) -> f32
}

// sysdeps/ieee754/dbl-64/e_exp_data.c: the bits of 2^(index / 128), less what the index adds to
// the exponent.
func.func private @wide_power_entry(%index: i32) -> i64 attributes {contract.table = 128} {
  %entries = arith.constant dense<[
      4607182418800017408, 4607171688528556853, 4607161091040444513, 4607150627056680837,
      4607140297302181236, 4607130102505797342, 4607120043400338376, 4607110120722592643,
      4607100335213349135, 4607090687617419255, 4607081178683658658, 4607071809164989211,
      4607062579818421073, 4607053491405074892, 4607044544690204128, 4607035740443217489,
      4607027079437701499, 4607018562451443178, 4607010190266452853, 4607001963668987092,
      4606993883449571754, 4606985950403025181, 4606978165328481494, 4606970529029414038,
      4606963042313658936, 4606955705993438783, 4606948520885386461, 4606941487810569089,
      4606934607594512097, 4606927881067223440, 4606921309063217931, 4606914892421541718,
      4606908631985796885, 4606902528604166193, 4606896583129437951, 4606890796419031025,
      4606885169335019979, 4606879702744160358, 4606874397517914103, 4606869254532475109,
      4606864274668794914, 4606859458812608540, 4606854807854460458, 4606850322689730711,
      4606846004218661165, 4606841853346381911, 4606837870982937808, 4606834058043315166,
      4606830415447468583, 4606826944120347917, 4606823644991925415, 4606820518997222978,
      4606817567076339586, 4606814790174478863, 4606812189241976794, 4606809765234329597,
      4606807519112221737, 4606805451841554103, 4606803564393472328, 4606801857744395273,
      4606800332876043653, 4606798990775468832, 4606797832435081765, 4606796858852682099,
      4606796071031487437, 4606795469980162751, 4606795056712849967, 4606794832249197700,
      4606794797614391156, 4606794953839182196, 4606795301959919561, 4606795843018579263,
      4606796578062795143, 4606797508145889586, 4606798634326904418, 4606799957670631954,
      4606801479247646227, 4606803200134334381, 4606805121412928237, 4606807244171536025,
      4606809569504174299, 4606812098510800012, 4606814832297342774, 4606817771975737286,
      4606820918663955941, 4606824273486041615, 4606827837572140624, 4606831612058535866,
      4606835598087680144, 4606839796808229667, 4606844209375077733, 4606848836949388595,
      4606853680698631517, 4606858741796615000, 4606864021423521215, 4606869520765940602,
      4606875241016906669, 4606881183375930982, 4606887349049038331, 4606893739248802106,
      4606900355194379847, 4606907198111549002, 4606914269232742866, 4606921569797086729,
      4606929101050434204, 4606936864245403770, 4606944860641415499, 4606953091504727989,
      4606961558108475497, 4606970261732705274, 4606979203664415100, 4606988385197591026,
      4606997807633245319, 4607007472279454616, 4607017380451398277, 4607027533471396960,
      4607037932668951391, 4607048579380781353, 4607059474950864886, 4607070620730477699,
      4607082018078232794, 4607093668360120305, 4607105572949547559, 4607117733227379351,
      4607130150581978432, 4607142826409246228, 4607155762112663768, 4607168959103332849]> : tensor<128xi64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<128xi64>
}

// The bits of what 2^(index / 128) lacks of that entry, by which it is divided.
func.func private @wide_power_rest(%index: i32) -> i64 attributes {contract.table = 128} {
  %entries = arith.constant dense<[
      0, 4367149474599452526, -4868004084858692515, -4859280119576434991, 4363093389540324883,
      -4860564323061625094, 4350749156061923425, 4364168240100004761, 4366128403083131757,
      4363624214708482044, 4341116261916187857, -4870076522866643445, -4857881712154133234,
      -4877256630102726059, -4858881367677209578, 4359717415120819631, -4863857816615152824,
      -4859630355816238531, 4362731899485115327, -4857455882053489882, 4367063335334195040,
      -4859410923963139939, 4362421515177083789, 4359618604155798653, 4365834109879625876,
      4361558225371547773, 4359562691856033778, -4857492308587640738, 4360319936817113905,
      -4882709470952570886, 4362641697437125300, 4354440509323660175, 4360414030434708406,
      4361245865020257356, 4363949802402347082, -4862018976549545212, -4858738662784151448,
      -4856841960950780530, -4867878926798276910, -4856823124960863467, 4361066948569222253,
      -4858519367427004022, -4874962362796897957, -4864964451502548453, 4342424336897059857,
      4365789078613288175, 4354643160121541497, 4365113450260533808, 4356828907110576048,
      4364865165386375287, -4859502521842818162, -4861672301267803319, -4865894452217038753,
      -4862178651875353354, 4364890759862540174, 4358244976955136773, 4364097860734309385,
      4338311716453074666, 4365169902980743221, -4860258889723447649, -4860452975632495192,
      -4862669920490755666, -4858312122400614312, 4347962289735735652, -4858341730713460184,
      -4870059510540748414, -4871936092595705362, -4863645441585018799, -4866104880896786737,
      -4861936742874514000, -4862171044651866486, 4364160436192007379, -4865239048860621539,
      4365374511615819883, 4352143969406577749, -4861457929465508030, -4858423338550479052,
      -4863783675556659426, -4858024654332078226, 4364178698342926848, 4363345029737015988,
      -4871286895867992065, 4358348108421357380, -4858529541450220157, -4873552611666813399,
      -4869477542650660519, -4858747092350994006, -4862257653857481141, 4355455812241575463,
      4354367543587795899, -4861700651175763357, 4362612029712904661, -4858896013081134315,
      4364212552380330450, 4360726356711135923, -4863078573502718540, 4362891239881388935,
      -4859248142566958598, -4875775683326071110, -4859203616861915584, -4870406652589927628,
      -4858839866725070283, 4356388038631218637, -4858893633017702228, 4355946959017544883,
      4363674894410448276, 4360857247493478828, 4351547817417644647, 4352565403421120872,
      -4863735759665056302, -4859474856892171665, -4859368956010059447, 4356286533989107623,
      -4863164539274780145, 4363524392198705836, 4360674496013757259, -4863090309766824417,
      -4861307347717911095, 4356306869484685523, 4360546482996998769, -4859393813814996496,
      -4860036451210660739, 4363640302291525640, 4360658257139329842, 4362409866909812206,
      -4859885672053611539, 4357102052301720989, 4346824392926350473]> : tensor<128xi64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<128xi64>
}

// sysdeps/ieee754/dbl-64/e_exp.c for |x| up to 700 or NaN, as the library has it for processors
// without fused multiply-additions; with these the last bit may differ.
func.func private @wide_exp(%x: f64) -> f64 {
  %z = arith.mulf 184.6649652337873, %x : f64
  %shifted = arith.addf %z, 6755399441055744.0 : f64
  %k = arith.bitcast %shifted : f64 to i64
  %whole = arith.subf %shifted, 6755399441055744.0 : f64
  %most = arith.mulf %whole, -0.005415212348111709 : f64
  %near = arith.addf %x, %most : f64
  %least = arith.mulf %whole, -1.2864023111638346e-14 : f64
  %r = arith.addf %near, %least : f64
  %low_bits = arith.andi %k, 127 : i64
  %index = arith.trunci %low_bits : i64 to i32
  %rest_bits = func.call @wide_power_rest(%index) : (i32) -> i64
  %rest = arith.bitcast %rest_bits : i64 to f64
  %entry = func.call @wide_power_entry(%index) : (i32) -> i64
  %exponent = arith.shli %k, 45 : i64
  %bits = arith.addi %entry, %exponent : i64
  %power = arith.bitcast %bits : i64 to f64
  %third = arith.mulf %r, 0.16666666666665886 : f64
  %second = arith.addf 0.49999999999996786, %third : f64
  %fifth = arith.mulf %r, 0.008333335853059549 : f64
  %fourth = arith.addf 0.0416666808410674, %fifth : f64
  %line = arith.addf %rest, %r : f64
  %square = arith.mulf %r, %r : f64
  %curve = arith.mulf %square, %second : f64
  %cubic = arith.addf %line, %curve : f64
  %quartic = arith.mulf %square, %square : f64
  %last = arith.mulf %quartic, %fourth : f64
  %y = arith.addf %cubic, %last : f64
  %more = arith.mulf %power, %y : f64
  %result = arith.addf %power, %more : f64
}

// ---------------------------------------------------------------- logarithm, power

// sysdeps/ieee754/flt-32/e_logf_data.c: a number near the reciprocal of the middle of one of 16
// parts between about 0.7 and 1.4.
func.func private @reciprocal(%index: i32) -> f64 attributes {contract.table = 16} {
  %entries = arith.constant dense<[
      1.398907162146528, 1.3403141896637998, 1.286432210124115, 1.2367150214269895,
      1.1906977166711752, 1.1479821020556429, 1.1082251448272158, 1.0711297413057381,
      1.036437278977283, 1.0, 0.9492859795739057, 0.8951049428609004,
      0.8476821620351103, 0.8050314851692001, 0.7664671008843108, 0.731428603316328]> : tensor<16xf64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<16xf64>
}

// The natural logarithm of one over it, rounded to nearest.
func.func private @natural_logarithm(%index: i32) -> f64 attributes {contract.table = 16} {
  %entries = arith.constant dense<[
      -0.33569133332882284, -0.2929040563774074, -0.2518726580937369, -0.21245868807117255,
      -0.17453945183745634, -0.1380057072319758, -0.10275976698545139, -0.06871392447020525,
      -0.0357891387398228, 0.0, 0.05204517742929496, 0.11081431298787942,
      0.1652495223695143, 0.21687389031699977, 0.2659635028121397, 0.3127556664073557]> : tensor<16xf64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<16xf64>
}

// e_powf_log2_data.c: the binary one.
func.func private @binary_logarithm(%index: i32) -> f64 attributes {contract.table = 16} {
  %entries = arith.constant dense<[
      -0.48430022186289673, -0.42257122959194704, -0.3633754347673556, -0.30651309567405577,
      -0.25180720160537634, -0.19910014943794563, -0.14825100623281615, -0.09913323807318392,
      -0.051632812977629436, 0.0, 0.07508531937943004, 0.15987125980713107,
      0.2384046664317681, 0.31288288605863257, 0.38370422656453185, 0.451211048935815]> : tensor<16xf64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<16xf64>
}

// x = 2^k z, with z in a part: r = z / (the part's middle) - 1, nearly. A subnormal number is
// raised by 2^23 first. For a number that isn't positive and finite, any r, k and part.
func.func private @reduced_to_one(%x: f32) -> (f64, f64, i32) {
  %is_small = arith.cmpf olt, %x, 1.1754943508222875e-38 : f32
  %raised = arith.mulf %x, 8388608.0 : f32
  %normal = arith.select %is_small, %raised, %x : f32
  %normal_bits = arith.bitcast %normal : f32 to i32
  %lowered = arith.subi %normal_bits, 192937984 : i32
  %bits = arith.select %is_small, %lowered, %normal_bits : i32
  %above = arith.subi %bits, 1060306944 : i32  // the bits of where the first part begins
  %k = arith.shrsi %above, 23 : i32
  %exponent = arith.shli %k, 23 : i32
  %z_bits = arith.subi %bits, %exponent : i32
  %z = arith.bitcast %z_bits : i32 to f32
  %leading = arith.shrsi %above, 19 : i32
  %part = arith.andi %leading, 15 : i32
  %reciprocal = func.call @reciprocal(%part) : (i32) -> f64
  %product = arith.mulf %z, %reciprocal : f64
  %r = arith.subf %product, 1.0 : f64
  %k_real = arith.sitofp %k : i32 to f64
  func.return %r, %k_real, %part : f64, f64, i32
}

// sysdeps/ieee754/flt-32/e_logf.c
func.func private @logf(%x: f32) -> f32 {
  %r, %k, %part = func.call @reduced_to_one(%x) : (f32) -> (f64, f64, i32)
  %multiple = arith.mulf %k, 0.6931471805599453 : f64
  %logarithm = func.call @natural_logarithm(%part) : (i32) -> f64
  %base = arith.addf %multiple, %logarithm : f64
  %square = arith.mulf %r, %r : f64
  %third = arith.mulf 0.333456765744066, %r : f64
  %low = arith.addf %third, -0.4999997485802103 : f64
  %fourth = arith.mulf -0.25089342214237154, %square : f64
  %curve = arith.addf %fourth, %low : f64
  %bent = arith.mulf %curve, %square : f64
  %line = arith.addf %base, %r : f64
  %y = arith.addf %bent, %line : f64
  %log = arith.truncf %y : f64 to f32
  %is_finite = arith.cmpf olt, %x, 0x7F800000 : f32
  %of_all = arith.select %is_finite, %log, %x : f32
  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %real = arith.select %is_negative, 0x7FC00000, %of_all : f32
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %result = arith.select %is_zero, 0xFF800000, %real : f32
}

// sysdeps/ieee754/flt-32/e_powf.c, log2_inline: of a number that isn't negative.
func.func private @wide_log2(%x: f32) -> f64 {
  %r, %k, %part = func.call @reduced_to_one(%x) : (f32) -> (f64, f64, i32)
  %logarithm = func.call @binary_logarithm(%part) : (i32) -> f64
  %base = arith.addf %logarithm, %k : f64
  %square = arith.mulf %r, %r : f64
  %fifth = arith.mulf 0.288457581109214, %r : f64
  %high = arith.addf %fifth, -0.36092606229713164 : f64
  %third = arith.mulf 0.480898481472577, %r : f64
  %middle = arith.addf %third, -0.7213474675006291 : f64
  %first = arith.mulf 1.4426950408774342, %r : f64
  %line = arith.addf %first, %base : f64
  %bent = arith.mulf %middle, %square : f64
  %low = arith.addf %bent, %line : f64
  %fourth_power = arith.mulf %square, %square : f64
  %curve = arith.mulf %high, %fourth_power : f64
  %y = arith.addf %curve, %low : f64
  %is_finite = arith.cmpf olt, %x, 0x7F800000 : f32
  %of_all = arith.select %is_finite, %y, 0x7FF0000000000000 : f64
  %is_zero = arith.cmpf oeq, %x, 0.0 : f32
  %result = arith.select %is_zero, 0xFFF0000000000000, %of_all : f64
}

// sysdeps/ieee754/flt-32/e_powf.c: 2^(y log2(|x|)), with x's sign where y is odd. Beyond 2^160 a
// result is infinite.
func.func private @powf(%x: f32, %y: f32) -> f32 {
  %magnitude = math.absf %x : f32
  %logarithm = func.call @wide_log2(%magnitude) : (f32) -> f64
  %exponent = arith.mulf %y, %logarithm : f64
  %is_low = arith.cmpf olt, %exponent, -160.0 : f64
  %not_low = arith.select %is_low, -160.0, %exponent : f64
  %is_high = arith.cmpf ogt, %not_low, 160.0 : f64
  %bounded = arith.select %is_high, 160.0, %not_low : f64
  %z = arith.mulf %bounded, 32.0 : f64
  %power = func.call @power_of_two(%z) : (f64) -> f32
  %half_y = arith.mulf %y, 0.5 : f32
  %floor = math.floor %y : f32
  %is_whole = arith.cmpf oeq, %floor, %y : f32
  %half_floor = math.floor %half_y : f32
  %has_rest = arith.cmpf une, %half_floor, %half_y : f32
  %is_odd = arith.andi %has_rest, %is_whole : i1
  %sign = math.copysign 1.0, %x : f32
  %signed = arith.mulf %sign, %power : f32
  %of_sign = arith.select %is_odd, %signed, %power : f32
  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %is_finite = arith.cmpf olt, %magnitude, 0x7F800000 : f32
  %is_broken = arith.xori %is_whole, true : i1
  %may_be_rootless = arith.andi %is_negative, %is_broken : i1
  %is_rootless = arith.andi %may_be_rootless, %is_finite : i1
  %real = arith.select %is_rootless, 0x7FC00000, %of_sign : f32
  %x_is_nan = arith.cmpf une, %x, %x : f32
  %y_is_nan = arith.cmpf une, %y, %y : f32
  %is_nan = arith.ori %x_is_nan, %y_is_nan : i1
  %number = arith.select %is_nan, 0x7FC00000, %real : f32
  %y_size = math.absf %y : f32
  %is_endless = arith.cmpf oeq, %y_size, 0x7F800000 : f32
  %is_unit = arith.cmpf oeq, %magnitude, 1.0 : f32
  %x_is_one = arith.cmpf oeq, %x, 1.0 : f32
  %y_is_zero = arith.cmpf oeq, %y, 0.0 : f32
  %is_trivial = arith.ori %x_is_one, %y_is_zero : i1
  %stays_unit = arith.andi %is_unit, %is_endless : i1
  %is_one = arith.ori %is_trivial, %stays_unit : i1
  %result = arith.select %is_one, 1.0, %number : f32
}

// ---------------------------------------------------------------- sine, cosine

// sysdeps/ieee754/flt-32/s_sinf.c
func.func private @sinf(%x: f32) -> f32 {
  %wave = func.call @wave(%x, 0) : (f32, i32) -> f32
  %size = math.absf %x : f32
  %is_tiny = arith.cmpf olt, %size, 0.000244140625 : f32
  %result = arith.select %is_tiny, %x, %wave : f32
}

// sysdeps/ieee754/flt-32/s_cosf.c
func.func private @cosf(%x: f32) -> f32 {
  %result = func.call @wave(%x, 1) : (f32, i32) -> f32
}

// The sine, some quarters of its period further on: x = n pi/2 + r with n whole and |r| at most
// about pi/4, a polynomial of r for the sine or the cosine, as n is even or odd, with a sign by n.
func.func private @wave(%x: f32, %quarters: i32) -> f32 {
  %size = math.absf %x : f32
  %is_far = arith.cmpf oge, %size, 120.0 : f32
  %nearby = arith.select %is_far, 0.0, %x : f32
  %near_r, %near_n = func.call @near_quarter(%nearby) : (f32) -> (f64, i32)
  %far_r, %far_n = func.call @far_quarter(%x) : (f32) -> (f64, i32)
  %r = arith.select %is_far, %far_r, %near_r : f64
  %own_n = arith.select %is_far, %far_n, %near_n : i32
  %n = arith.addi %own_n, %quarters : i32
  %first_bit = arith.andi %n, 1 : i32
  %is_odd = arith.cmpi ne, %first_bit, 0 : i32
  %second_bit = arith.andi %n, 2 : i32
  %is_negative = arith.cmpi ne, %second_bit, 0 : i32
  %square = arith.mulf %r, %r : f64
  %even = func.call @cosine_polynomial(%square) : (f64) -> f64
  %odd = func.call @sine_polynomial(%r, %square) : (f64, f64) -> f64
  %wide = arith.select %is_odd, %even, %odd : f64
  %narrow = arith.truncf %wide : f64 to f32
  %opposite = arith.negf %narrow : f32
  %signed = arith.select %is_negative, %opposite, %narrow : f32
  %is_finite = arith.cmpf olt, %size, 0x7F800000 : f32
  %result = arith.select %is_finite, %signed, 0x7FC00000 : f32
}

// sysdeps/ieee754/flt-32/s_sincosf_data.c, sincosf.h
func.func private @sine_polynomial(%r: f64, %square: f64) -> f64 {
  %cube = arith.mulf %r, %square : f64
  %seventh = arith.mulf %square, -0.00019517298981385725 : f64
  %high = arith.addf 0.008332178146138854, %seventh : f64
  %third = arith.mulf %cube, -0.16666654943701084 : f64
  %low = arith.addf %r, %third : f64
  %fifth_power = arith.mulf %cube, %square : f64
  %curve = arith.mulf %fifth_power, %high : f64
  %result = arith.addf %low, %curve : f64
}

func.func private @cosine_polynomial(%square: f64) -> f64 {
  %fourth_power = arith.mulf %square, %square : f64
  %eighth = arith.mulf %square, 2.4390450703564542e-05 : f64
  %high = arith.addf -0.001388676379437604, %eighth : f64
  %second = arith.mulf %square, -0.49999999725108224 : f64
  %line = arith.addf 1.0, %second : f64
  %fourth = arith.mulf %fourth_power, 0.041666623324344516 : f64
  %low = arith.addf %line, %fourth : f64
  %sixth_power = arith.mulf %fourth_power, %square : f64
  %curve = arith.mulf %sixth_power, %high : f64
  %result = arith.addf %low, %curve : f64
}

// sincosf.h, reduce_fast, of numbers below 120: n is x 2/pi, rounded from 24 bits behind the
// point. pi/2 is taken off in two parts, whose products by up to 76 are exact: together they round
// once, as the library's FMA does.
func.func private @near_quarter(%x: f32) -> (f64, i32) {
  %n = func.call @quarters_below(%x) : (f32) -> i32
  %count = arith.sitofp %n : i32 to f64
  %high = arith.mulf %count, 1.5707963267923333 : f64
  %less = arith.subf %x, %high : f64
  %low = arith.mulf %count, 2.5632829192545614e-12 : f64
  %r = arith.subf %less, %low : f64
  func.return %r, %n : f64, i32
}

// The multiple of pi/2 that is nearest to a number below 120.
func.func private @quarters_below(%x: f32) -> i32 {
  %scaled = arith.mulf %x, 10680707.430881744 : f64  // 2^24 times 2/pi
  %whole = fixed.convert %scaled {rounding = toward_zero} : f64 to i32
  %nudged = arith.addi %whole, 8388608 : i32
  %result = arith.shrsi %nudged, 24 : i32
}

// sincosf.h, reduce_large, of numbers from 120 on: 24 bits times 96 of 2/pi, without what gives
// whole periods; 62 bits are behind the point.
func.func private @far_quarter(%x: f32) -> (f64, i32) {
  %bits = arith.bitcast %x : f32 to i32
  %fraction = arith.andi %bits, 8388607 : i32
  %significand = arith.addi %fraction, 8388608 : i32
  %exponent = arith.shrsi %bits, 23 : i32
  %places = arith.andi %exponent, 7 : i32
  %number = arith.shli %significand, %places : i32
  %byte_of_exponent = arith.shrsi %bits, 26 : i32
  %byte = arith.andi %byte_of_exponent, 15 : i32
  %second_byte = arith.addi %byte, 4 : i32
  %third_byte = arith.addi %byte, 8 : i32
  %high_word = func.call @two_over_pi_word(%byte) : (i32) -> i64
  %middle_word = func.call @two_over_pi_word(%second_byte) : (i32) -> i64
  %low_word = func.call @two_over_pi_word(%third_byte) : (i32) -> i64
  %high = arith.muli %number, %high_word : i64
  %middle = arith.muli %number, %middle_word : i64
  %low = arith.muli %number, %low_word : i64
  %high_moved = arith.shli %high, 32 : i64
  %low_moved = arith.shrsi %low, 32 : i64
  %ends = arith.addi %high_moved, %low_moved : i64
  %quotient = arith.addi %ends, %middle : i64
  %nudged = arith.addi %quotient, 2305843009213693952 : i64
  %n_wide = arith.shrsi %nudged, 62 : i64
  %n_moved = arith.shli %n_wide, 62 : i64
  %rest = arith.subi %quotient, %n_moved : i64
  %rest_real = arith.sitofp %rest : i64 to f64
  %r = arith.mulf %rest_real, 3.4061215800865545e-19 : f64  // pi/2 times 2^-62
  %n = arith.trunci %n_wide : i64 to i32
  %is_negative = arith.cmpi slt, %bits, 0 : i32
  %opposite_r = arith.negf %r : f64
  %opposite_n = arith.subi 0, %n : i32
  %signed_r = arith.select %is_negative, %opposite_r, %r : f64
  %signed_n = arith.select %is_negative, %opposite_n, %n : i32
  func.return %signed_r, %signed_n : f64, i32
}

// s_sincosf_data.c, __inv_pio4: 32 bits of 2/pi, the first `index` + 1 bytes behind its point last.
func.func private @two_over_pi_word(%index: i32) -> i64 attributes {contract.table = 24} {
  %entries = arith.constant dense<[
      162, 41721, 10680707, 2734261102, 4186140238, 2205044292,
      1850622997, 1313084713, 1142237692, 355073063, 704390999, 4230436817,
      660066805, 1473377588, 3522507997, 4113882560, 886948059, 3720403810,
      3235603093, 3680671129, 1653971260, 2509847619, 2570863504, 1011060801]> : tensor<24xi64>
  %place = arith.index_cast %index : i32 to index
  %result = tensor.extract %entries[%place] : tensor<24xi64>
}

// ---------------------------------------------------------------- hyperbolic tangent

// sysdeps/ieee754/flt-32/s_tanhf.c: with t = expm1(-2|x|) it is -t / (t + 2) below 1, with
// t = expm1(2|x|) from there on 1 - 2 / (t + 2), from 22 on 1, and below 2^-55 x (1 + x).
func.func private @tanhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_small = arith.cmpf olt, %size, 1.0 : f32
  %is_inside = arith.cmpf olt, %size, 22.0 : f32
  %bounded = arith.select %is_inside, %size, 1.0 : f32
  %doubled = arith.mulf 2.0, %bounded : f32
  %opposite = arith.negf %doubled : f32
  %power = arith.select %is_small, %opposite, %doubled : f32
  %t = func.call @expm1f_within(%power, %is_small) : (f32, i1) -> f32
  %total = arith.addf %t, 2.0 : f32
  %t_opposite = arith.negf %t : f32
  %small = arith.divf %t_opposite, %total : f32
  %quotient = arith.divf 2.0, %total : f32
  %other = arith.subf 1.0, %quotient : f32
  %inside = arith.select %is_small, %small, %other : f32
  %magnitude = arith.select %is_inside, %inside, 1.0 : f32
  %signed = math.copysign %magnitude, %x : f32
  %is_tiny = arith.cmpf olt, %size, 2.7755575615628914e-17 : f32
  %more = arith.addf 1.0, %x : f32
  %linear = arith.mulf %x, %more : f32
  %tanh = arith.select %is_tiny, %linear, %signed : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %tanh, %x : f32
}

// sysdeps/ieee754/flt-32/s_expm1f.c, of x in [-19, 0] where it is negative, else in [0, 88.72):
// multiples k of ln(2) are taken off, and a rational function has the rest.
func.func private @expm1f_within(%x: f32, %is_negative: i1) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf ole, %size, 0.3465736 : f32  // ln(2) / 2
  %nudge = arith.select %is_negative, -0.5, 0.5 : f32
  %multiple = arith.mulf 1.442695, %x : f32
  %nudged = arith.addf %multiple, %nudge : f32
  %far_k = fixed.convert %nudged {rounding = toward_zero} : f32 to i32
  %is_next = arith.cmpf olt, %size, 1.0397208 : f32  // 3 ln(2) / 2
  %one_multiple = arith.select %is_negative, -1, 1 : i32
  %next_k = arith.select %is_next, %one_multiple, %far_k : i32
  %k = arith.select %is_near, 0, %next_k : i32
  %count = arith.sitofp %k : i32 to f32
  %high_part = arith.mulf %count, 0.6931381 : f32
  %high = arith.subf %x, %high_part : f32
  %low = arith.mulf %count, 9.058001e-06 : f32
  %r = arith.subf %high, %low : f32
  %difference = arith.subf %high, %r : f32
  %lost = arith.subf %difference, %low : f32
  %half_r = arith.mulf 0.5, %r : f32
  %square = arith.mulf %r, %half_r : f32
  %c4_term = arith.mulf %square, -2.0109921195e-07 : f32
  %c4 = arith.addf 4.0082177293e-06, %c4_term : f32
  %c3_term = arith.mulf %square, %c4 : f32
  %c3 = arith.addf -7.936507609e-05, %c3_term : f32
  %c2_term = arith.mulf %square, %c3 : f32
  %c2 = arith.addf 0.0015873016091, %c2_term : f32
  %c1_term = arith.mulf %square, %c2 : f32
  %c1 = arith.addf -0.033333335072, %c1_term : f32
  %c0_term = arith.mulf %square, %c1 : f32
  %c0 = arith.addf 1.0, %c0_term : f32
  %of_half = arith.mulf %c0, %half_r : f32
  %t = arith.subf 3.0, %of_half : f32
  %above = arith.subf %c0, %t : f32
  %times = arith.mulf %r, %t : f32
  %below = arith.subf 6.0, %times : f32
  %quotient = arith.divf %above, %below : f32
  %first_error = arith.mulf %square, %quotient : f32

  // |x| up to ln(2) / 2: nothing was taken off
  %near_error = arith.mulf %r, %first_error : f32
  %near_bend = arith.subf %near_error, %square : f32
  %near = arith.subf %r, %near_bend : f32

  %error_less = arith.subf %first_error, %lost : f32
  %error_scaled = arith.mulf %r, %error_less : f32
  %error_whole = arith.subf %error_scaled, %lost : f32
  %error = arith.subf %error_whole, %square : f32
  %rest = arith.subf %error, %r : f32

  // k = -1
  %next_rest = arith.subf %r, %error : f32
  %next_half = arith.mulf 0.5, %next_rest : f32
  %next = arith.subf %next_half, 0.5 : f32

  // k = 1
  %first_half = arith.addf %r, 0.5 : f32
  %first_low_half = arith.subf %error, %first_half : f32
  %first_low = arith.mulf -2.0, %first_low_half : f32
  %first_twice = arith.mulf 2.0, %next_rest : f32
  %first_high = arith.addf 1.0, %first_twice : f32
  %is_first_low = arith.cmpf olt, %r, -0.25 : f32
  %first = arith.select %is_first_low, %first_low, %first_high : f32

  // k below -1 or above 56: 1 is nothing beside e^x, or nearly all of it
  %outer_factor = arith.subf 1.0, %rest : f32
  %outer_power = func.call @times_power(%outer_factor, %k) : (f32, i32) -> f32
  %outer = arith.subf %outer_power, 1.0 : f32

  // k from 2 to 22, and to 56
  %is_none = arith.cmpi sle, %k, 0 : i32
  %positive_k = arith.select %is_none, 1, %k : i32
  %negative_k = arith.subi 0, %positive_k : i32
  %power = func.call @times_power(1.0, %negative_k) : (f32, i32) -> f32
  %few_factor = arith.subf 1.0, %power : f32
  %few_sum = arith.subf %few_factor, %rest : f32
  %few = func.call @times_power(%few_sum, %k) : (f32, i32) -> f32
  %many_error = arith.addf %error, %power : f32
  %many_rest = arith.subf %r, %many_error : f32
  %many_sum = arith.addf %many_rest, 1.0 : f32
  %many = func.call @times_power(%many_sum, %k) : (f32, i32) -> f32

  %is_few = arith.cmpi sle, %k, 22 : i32
  %some = arith.select %is_few, %few, %many : f32
  %is_some = arith.cmpi sle, %k, 56 : i32
  %far = arith.select %is_some, %some, %outer : f32
  %is_first = arith.cmpi eq, %k, 1 : i32
  %positive = arith.select %is_first, %first, %far : f32
  %is_outer = arith.cmpi sle, %k, -2 : i32
  %negative = arith.select %is_outer, %outer, %next : f32
  %beyond = arith.select %is_negative, %negative, %positive : f32
  %result = arith.select %is_near, %near, %beyond : f32
}

// x 2^k, by its exponent
func.func private @times_power(%x: f32, %k: i32) -> f32 {
  %exponent = arith.shli %k, 23 : i32
  %bits = arith.bitcast %x : f32 to i32
  %moved = arith.addi %bits, %exponent : i32
  %result = arith.bitcast %moved : i32 to f32
}

// expm1f(x) below 0, else x, which -0 and NaN are. From -19 down it is -1.
func.func private @real_elu(%x: f32) -> f32 {
  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %is_low = arith.cmpf olt, %x, -19.0 : f32
  %bounded = arith.select %is_low, -19.0, %x : f32
  %below = arith.select %is_negative, %bounded, 0.0 : f32
  %power = func.call @expm1f_within(%below, %is_negative) : (f32, i1) -> f32
  %result = arith.select %is_negative, %power, %x : f32
}

// ---------------------------------------------------------------- hyperbolic sine, cosine

// sysdeps/ieee754/flt-32/e_sinhf.c: with t = expm1(|x|) half of 2t - t^2 / (t + 1) below 1, of
// t + t / (t + 1) below 22; from there on half of e^|x|.
func.func private @sinhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %half = math.copysign 0.5, %x : f32
  %is_inside = arith.cmpf olt, %size, 22.0 : f32
  %inside = arith.select %is_inside, %size, 0.0 : f32
  %is_negative = arith.cmpf olt, %inside, 0.0 : f32
  %t = func.call @expm1f_within(%inside, %is_negative) : (f32, i1) -> f32
  %e = arith.addf %t, 1.0 : f32
  %double = arith.mulf 2.0, %t : f32
  %square = arith.mulf %t, %t : f32
  %less = arith.divf %square, %e : f32
  %small_sum = arith.subf %double, %less : f32
  %share = arith.divf %t, %e : f32
  %other_sum = arith.addf %t, %share : f32
  %is_small = arith.cmpf olt, %size, 1.0 : f32
  %sum = arith.select %is_small, %small_sum, %other_sum : f32
  %near = arith.mulf %half, %sum : f32
  %is_tiny = arith.cmpf olt, %size, 3.725290298461914e-09 : f32
  %not_tiny = arith.select %is_tiny, %x, %near : f32
  %far = func.call @half_exponential(%size, %half) : (f32, f32) -> f32
  %finite = arith.select %is_inside, %not_tiny, %far : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %finite, %x : f32
}

// sysdeps/ieee754/flt-32/e_coshf.c: with t = expm1(|x|) and w = 1 + t it is 1 + t^2 / 2w below
// ln(2) / 2, below 22 the mean of e^|x| and its reciprocal.
func.func private @coshf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf olt, %size, 0.3465736 : f32
  %near_size = arith.select %is_near, %size, 0.0 : f32
  %is_negative = arith.cmpf olt, %near_size, 0.0 : f32
  %t = func.call @expm1f_within(%near_size, %is_negative) : (f32, i1) -> f32
  %w = arith.addf 1.0, %t : f32
  %square = arith.mulf %t, %t : f32
  %double = arith.addf %w, %w : f32
  %share = arith.divf %square, %double : f32
  %near = arith.addf 1.0, %share : f32
  %e = func.call @expf(%size) : (f32) -> f32
  %half = arith.mulf 0.5, %e : f32
  %reciprocal = arith.divf 0.5, %e : f32
  %middle = arith.addf %half, %reciprocal : f32
  %far = func.call @half_exponential(%size, 0.5) : (f32, f32) -> f32
  %is_inside = arith.cmpf olt, %size, 22.0 : f32
  %not_near = arith.select %is_inside, %middle, %far : f32
  %finite = arith.select %is_near, %near, %not_near : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %finite, %x : f32
}

// `half` times e^x of x from 22 on; where e^x would overflow, by the square of e^(x / 2).
func.func private @half_exponential(%x: f32, %half: f32) -> f32 {
  %whole = func.call @expf(%x) : (f32) -> f32
  %once = arith.mulf %half, %whole : f32
  %half_x = arith.mulf 0.5, %x : f32
  %root = func.call @expf(%half_x) : (f32) -> f32
  %first = arith.mulf %half, %root : f32
  %twice = arith.mulf %first, %root : f32
  %is_low = arith.cmpf olt, %x, 88.72168 : f32
  %finite = arith.select %is_low, %once, %twice : f32
  %is_beyond = arith.cmpf ogt, %x, 89.415985 : f32
  %infinite = math.copysign 0x7F800000, %half : f32
  %result = arith.select %is_beyond, %infinite, %finite : f32
}

// ---------------------------------------------------------------- tangent

// sysdeps/ieee754/flt-32/s_tanf.c, k_tanf.c: x = n pi/2 + y + z, z being what y lost. An odd n has
// -1 over the tangent of the rest.
func.func private @tanf(%x: f32) -> f32 {
  %y, %z, %n = func.call @rest_of_quarters(%x) : (f32) -> (f32, f32, i32)
  %low_bit = arith.andi %n, 1 : i32
  %is_odd = arith.cmpi eq, %low_bit, 1 : i32
  %size = math.absf %y : f32
  %is_large = arith.cmpf oge, %size, 0.6743355 : f32
  %one = math.copysign 1.0, %y : f32
  %kind = arith.select %is_odd, -1.0, 1.0 : f32

  // near pi/4 of what is left to it
  %left = arith.subf 0.7853981, %size : f32
  %z_signed = arith.mulf %z, %one : f32
  %left_low = arith.subf 3.7748947e-08, %z_signed : f32
  %left_whole = arith.addf %left, %left_low : f32
  %a = arith.select %is_large, %left_whole, %y : f32
  %b = arith.select %is_large, 0.0, %z : f32
  %sign = arith.mulf %one, %kind : f32

  %square = arith.mulf %a, %a : f32
  %fourth = arith.mulf %square, %square : f32
  %odd11 = arith.mulf %fourth, -1.8558637748e-05 : f32
  %odd9 = arith.addf 7.8179444245e-05, %odd11 : f32
  %odd9_term = arith.mulf %fourth, %odd9 : f32
  %odd7 = arith.addf 5.8804126456e-04, %odd9_term : f32
  %odd7_term = arith.mulf %fourth, %odd7 : f32
  %odd5 = arith.addf 3.5920790397e-03, %odd7_term : f32
  %odd5_term = arith.mulf %fourth, %odd5 : f32
  %odd3 = arith.addf 2.1869488060e-02, %odd5_term : f32
  %odd3_term = arith.mulf %fourth, %odd3 : f32
  %odd = arith.addf 1.3333334029e-01, %odd3_term : f32
  %even12 = arith.mulf %fourth, 2.5907305826e-05 : f32
  %even10 = arith.addf 7.1407252108e-05, %even12 : f32
  %even10_term = arith.mulf %fourth, %even10 : f32
  %even8 = arith.addf 2.4646313977e-04, %even10_term : f32
  %even8_term = arith.mulf %fourth, %even8 : f32
  %even6 = arith.addf 1.4562094584e-03, %even8_term : f32
  %even6_term = arith.mulf %fourth, %even6 : f32
  %even4 = arith.addf 8.8632395491e-03, %even6_term : f32
  %even4_term = arith.mulf %fourth, %even4 : f32
  %even2 = arith.addf 5.3968254477e-02, %even4_term : f32
  %even = arith.mulf %square, %even2 : f32
  %cube = arith.mulf %square, %a : f32
  %both = arith.addf %odd, %even : f32
  %of_cube = arith.mulf %cube, %both : f32
  %of_cube_low = arith.addf %of_cube, %b : f32
  %of_square = arith.mulf %square, %of_cube_low : f32
  %bend = arith.addf %b, %of_square : f32
  %third = arith.mulf 3.3333334327e-01, %cube : f32
  %r = arith.addf %bend, %third : f32
  %w = arith.addf %a, %r : f32

  %w_square = arith.mulf %w, %w : f32
  %w_kind = arith.addf %w, %kind : f32
  %w_share = arith.divf %w_square, %w_kind : f32
  %w_rest = arith.subf %w_share, %r : f32
  %a_rest = arith.subf %a, %w_rest : f32
  %a_twice = arith.mulf 2.0, %a_rest : f32
  %large_size = arith.subf %kind, %a_twice : f32
  %large = arith.mulf %one, %large_size : f32
  %a_size = math.absf %a : f32
  %is_tiny = arith.cmpf olt, %a_size, 0.0001220703125 : f32
  %kind_twice = arith.mulf 2.0, %kind : f32
  %a_scaled = arith.mulf %kind_twice, %a : f32
  %a_less = arith.subf 1.0, %a_scaled : f32
  %large_tiny = arith.mulf %sign, %a_less : f32
  %of_large = arith.select %is_tiny, %large_tiny, %large : f32

  // -1 / w, of w in two parts
  %w_high = func.call @high_half(%w) : (f32) -> f32
  %high_rest = arith.subf %w_high, %a : f32
  %w_low = arith.subf %r, %high_rest : f32
  %inverse = arith.divf -1.0, %w : f32
  %inverse_high = func.call @high_half(%inverse) : (f32) -> f32
  %product = arith.mulf %inverse_high, %w_high : f32
  %lost = arith.addf 1.0, %product : f32
  %low_product = arith.mulf %inverse_high, %w_low : f32
  %lost_whole = arith.addf %lost, %low_product : f32
  %correction = arith.mulf %inverse, %lost_whole : f32
  %corrected = arith.addf %inverse_high, %correction : f32
  %tiny_inverse = arith.divf -1.0, %a : f32
  %of_odd = arith.select %is_tiny, %tiny_inverse, %corrected : f32
  %of_even = arith.select %is_tiny, %a, %w : f32
  %of_small = arith.select %is_odd, %of_odd, %of_even : f32
  %result = arith.select %is_large, %of_large, %of_small : f32
}

// The 12 leading bits of a significand
func.func private @high_half(%x: f32) -> f32 {
  %bits = arith.bitcast %x : f32 to i32
  %high = arith.andi %bits, -4096 : i32
  %result = arith.bitcast %high : i32 to f32
}

// rem_pio2f of s_tanf.c since 2.34: the rest of multiples of pi/2 in float64, below 120 by a product
// that is rounded, as the sine's two parts; a float32 and what it lost.
func.func private @rest_of_quarters(%x: f32) -> (f32, f32, i32) {
  %size = math.absf %x : f32
  %is_near = arith.cmpf ole, %size, 0.7853981 : f32
  %is_below = arith.cmpf olt, %size, 120.0 : f32
  %below = arith.select %is_below, %x, 0.0 : f32
  %near_n = func.call @quarters_below(%below) : (f32) -> i32
  %count = arith.sitofp %near_n : i32 to f64
  %multiple = arith.mulf %count, 1.5707963267948966 : f64
  %near_r = arith.subf %below, %multiple : f64
  %far_r, %far_n = func.call @far_quarter(%x) : (f32) -> (f64, i32)
  %r = arith.select %is_below, %near_r, %far_r : f64
  %n = arith.select %is_below, %near_n, %far_n : i32
  %y = arith.truncf %r : f64 to f32
  %lost = arith.subf %r, %y : f64
  %z = arith.truncf %lost : f64 to f32
  %is_finite = arith.cmpf olt, %size, 0x7F800000 : f32
  %y_finite = arith.select %is_finite, %y, 0x7FC00000 : f32
  %y_result = arith.select %is_near, %x, %y_finite : f32
  %z_result = arith.select %is_near, 0.0, %z : f32
  %n_result = arith.select %is_near, 0, %n : i32
  func.return %y_result, %z_result, %n_result : f32, f32, i32
}

// ---------------------------------------------------------------- arc sine, cosine

// sysdeps/ieee754/flt-32/e_asinf.c: below 1/2 x + x w(x^2), from there on pi/2 less twice the arc
// sine of s = sqrt((1 - |x|) / 2), in two parts up to 0.975. Beyond 1 it is NaN.
func.func private @asinf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf olt, %size, 0.5 : f32
  %left = arith.subf 1.0, %size : f32
  %half_left = arith.mulf %left, 0.5 : f32
  %square = arith.mulf %x, %x : f32
  %t = arith.select %is_near, %square, %half_left : f32
  %times3 = arith.mulf %t, 0.04216630880 : f32
  %p3 = arith.addf 0.02417951451, %times3 : f32
  %times2 = arith.mulf %t, %p3 : f32
  %p2 = arith.addf 0.04547037598, %times2 : f32
  %times1 = arith.mulf %t, %p2 : f32
  %p1 = arith.addf 0.07495297643, %times1 : f32
  %times0 = arith.mulf %t, %p1 : f32
  %p0 = arith.addf 0.1666675248, %times0 : f32
  %w = arith.mulf %t, %p0 : f32
  %near_more = arith.mulf %x, %w : f32
  %near_sum = arith.addf %x, %near_more : f32
  %is_tiny = arith.cmpf olt, %size, 7.450580596923828e-09 : f32
  %near = arith.select %is_tiny, %x, %near_sum : f32

  %s = math.sqrt %half_left : f32
  %of_s = arith.mulf %s, %w : f32
  %arc = arith.addf %s, %of_s : f32
  %twice = arith.mulf 2.0, %arc : f32
  %twice_low = arith.subf %twice, -4.37113900018624283e-08 : f32
  %far = arith.subf 1.57079637050628662109375, %twice_low : f32

  %high = func.call @high_half(%s) : (f32) -> f32
  %c = func.call @rest_of_root(%half_left, %s, %high) : (f32, f32, f32) -> f32
  %s_twice = arith.mulf 2.0, %s : f32
  %product = arith.mulf %s_twice, %w : f32
  %c_twice = arith.mulf 2.0, %c : f32
  %c_low = arith.subf -4.37113900018624283e-08, %c_twice : f32
  %p = arith.subf %product, %c_low : f32
  %high_twice = arith.mulf 2.0, %high : f32
  %q = arith.subf 0.785398185253143310546875, %high_twice : f32
  %less = arith.subf %p, %q : f32
  %middle = arith.subf 0.785398185253143310546875, %less : f32

  %is_far = arith.cmpf oge, %size, 0.975 : f32
  %magnitude = arith.select %is_far, %far, %middle : f32
  %signed = math.copysign %magnitude, %x : f32
  %inside = arith.select %is_near, %near, %signed : f32
  %is_inside = arith.cmpf ole, %size, 1.0 : f32
  %result = arith.select %is_inside, %inside, 0x7FC00000 : f32
}

// sysdeps/ieee754/flt-32/e_acosf.c: with r = p(z) / q(z) of z = x^2 below 1/2 it is pi/2 less x + x r,
// with z = (1 - |x|) / 2 from there on twice s + s r, s being the root of z.
func.func private @acosf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %is_near = arith.cmpf olt, %size, 0.5 : f32
  %left = arith.subf 1.0, %size : f32
  %half_left = arith.mulf %left, 0.5 : f32
  %square = arith.mulf %x, %x : f32
  %z = arith.select %is_near, %square, %half_left : f32
  %times5 = arith.mulf %z, 3.4793309169e-05 : f32
  %p4 = arith.addf 7.9153501429e-04, %times5 : f32
  %times4 = arith.mulf %z, %p4 : f32
  %p3 = arith.addf -4.0055535734e-02, %times4 : f32
  %times3 = arith.mulf %z, %p3 : f32
  %p2 = arith.addf 2.0121252537e-01, %times3 : f32
  %times2 = arith.mulf %z, %p2 : f32
  %p1 = arith.addf -3.2556581497e-01, %times2 : f32
  %times1 = arith.mulf %z, %p1 : f32
  %p0 = arith.addf 1.6666667163e-01, %times1 : f32
  %p = arith.mulf %z, %p0 : f32
  %by4 = arith.mulf %z, 7.7038154006e-02 : f32
  %q3 = arith.addf -6.8828397989e-01, %by4 : f32
  %by3 = arith.mulf %z, %q3 : f32
  %q2 = arith.addf 2.0209457874, %by3 : f32
  %by2 = arith.mulf %z, %q2 : f32
  %q1 = arith.addf -2.4033949375, %by2 : f32
  %by1 = arith.mulf %z, %q1 : f32
  %q = arith.addf 1.0, %by1 : f32
  %r = arith.divf %p, %q : f32

  %of_x = arith.mulf %x, %r : f32
  %near_low = arith.subf 7.5497894159e-08, %of_x : f32
  %near_arc = arith.subf %x, %near_low : f32
  %near = arith.subf 1.5707962513, %near_arc : f32

  %s = math.sqrt %half_left : f32
  %of_s = arith.mulf %r, %s : f32
  %below_low = arith.subf %of_s, 7.5497894159e-08 : f32
  %below_arc = arith.addf %s, %below_low : f32
  %below_twice = arith.mulf 2.0, %below_arc : f32
  %below = arith.subf 3.1415925026, %below_twice : f32

  %high = func.call @high_half(%s) : (f32) -> f32
  %c = func.call @rest_of_root(%half_left, %s, %high) : (f32, f32, f32) -> f32
  %above_low = arith.addf %of_s, %c : f32
  %above_arc = arith.addf %high, %above_low : f32
  %above_twice = arith.mulf 2.0, %above_arc : f32
  %is_one = arith.cmpf oeq, %size, 1.0 : f32
  %above = arith.select %is_one, 0.0, %above_twice : f32

  %is_negative = arith.cmpf olt, %x, 0.0 : f32
  %far = arith.select %is_negative, %below, %above : f32
  %inside = arith.select %is_near, %near, %far : f32
  %is_inside = arith.cmpf ole, %size, 1.0 : f32
  %result = arith.select %is_inside, %inside, 0x7FC00000 : f32
}

// The difference between the root of z and a rounded one, whose leading bits are `high`.
func.func private @rest_of_root(%z: f32, %root: f32, %high: f32) -> f32 {
  %high_square = arith.mulf %high, %high : f32
  %left = arith.subf %z, %high_square : f32
  %sum = arith.addf %root, %high : f32
  %result = arith.divf %left, %sum : f32
}

// sysdeps/ieee754/flt-32/s_atanf.c
func.func private @atanf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %arc = func.call @atanf_of_positive(%size) : (f32) -> f32
  %signed = math.copysign %arc, %x : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %signed, %x : f32
}

// ---------------------------------------------------------------- logarithm of 1 + x

// sysdeps/ieee754/flt-32/s_log1pf.c: 1 + x is 2^k (1 + f), what its rounding lost is c; a
// polynomial has log(1 + f). -1 gives -infinity, and what is below it NaN.
func.func private @log1pf(%x: f32) -> f32 {
  %is_above = arith.cmpf oge, %x, -0.2928933799266815 : f32
  %is_low = arith.cmpf olt, %x, 0.4142138659954071 : f32
  %is_near = arith.andi %is_above, %is_low : i1
  %sum = arith.addf 1.0, %x : f32
  %sum_bits = arith.bitcast %sum : f32 to i32
  %sum_exponent = arith.shrsi %sum_bits, 23 : i32
  %is_large = arith.cmpi sgt, %sum_exponent, 127 : i32
  %added = arith.subf %sum, %x : f32
  %lost_of_one = arith.subf 1.0, %added : f32
  %other = arith.subf %sum, 1.0 : f32
  %lost_of_x = arith.subf %x, %other : f32
  %lost = arith.select %is_large, %lost_of_one, %lost_of_x : f32
  %share = arith.divf %lost, %sum : f32
  %is_alone = arith.cmpf oge, %x, 9007199254740992.0 : f32
  %far_c = arith.select %is_alone, 0.0, %share : f32
  %whole = arith.select %is_alone, %x, %sum : f32

  %bits = arith.bitcast %whole : f32 to i32
  %mantissa = arith.andi %bits, 8388607 : i32
  %is_below_root = arith.cmpi slt, %mantissa, 3474679 : i32
  %exponent_bits = arith.select %is_below_root, 1065353216, 1056964608 : i32
  %part_bits = arith.ori %mantissa, %exponent_bits : i32
  %part = arith.bitcast %part_bits : i32 to f32
  %far_f = arith.subf %part, 1.0 : f32
  %f = arith.select %is_near, %x, %far_f : f32
  %up_to_two = arith.subi 8388608, %mantissa : i32
  %quarter = arith.shrsi %up_to_two, 2 : i32
  %far_rest = arith.select %is_below_root, %mantissa, %quarter : i32
  %rest = arith.select %is_near, 1, %far_rest : i32
  %exponent = arith.shrsi %bits, 23 : i32
  %bias = arith.select %is_below_root, 127, 126 : i32
  %far_k = arith.subi %exponent, %bias : i32
  %whole_k = arith.select %is_near, 0, %far_k : i32
  %k = arith.sitofp %whole_k : i32 to f32
  %c = arith.select %is_near, 0.0, %far_c : f32

  %half = arith.mulf 0.5, %f : f32
  %half_square = arith.mulf %half, %f : f32
  %above = arith.addf 2.0, %f : f32
  %s = arith.divf %f, %above : f32
  %z = arith.mulf %s, %s : f32
  %r7 = arith.mulf %z, 0.1479819864 : f32
  %r6 = arith.addf 0.15313838422, %r7 : f32
  %z6 = arith.mulf %z, %r6 : f32
  %r5 = arith.addf 0.1818357259, %z6 : f32
  %z5 = arith.mulf %z, %r5 : f32
  %r4 = arith.addf 0.22222198546, %z5 : f32
  %z4 = arith.mulf %z, %r4 : f32
  %r3 = arith.addf 0.28571429849, %z4 : f32
  %z3 = arith.mulf %z, %r3 : f32
  %r2 = arith.addf 0.40000000596, %z3 : f32
  %z2 = arith.mulf %z, %r2 : f32
  %r1 = arith.addf 0.66666668653, %z2 : f32
  %curve = arith.mulf %z, %r1 : f32

  // f, less what bends it: R of a polynomial, or where f is tiny of two terms
  %bent_sum = arith.addf %half_square, %curve : f32
  %bent = arith.mulf %s, %bent_sum : f32
  %bend = arith.subf %half_square, %bent : f32
  %near = arith.subf %f, %bend : f32
  %third = arith.mulf 0.6666667, %f : f32
  %two_thirds = arith.subf 1.0, %third : f32
  %tiny_bend = arith.mulf %half_square, %two_thirds : f32
  %tiny_near = arith.subf %f, %tiny_bend : f32

  %low_part = arith.mulf %k, 9.0580006145e-06 : f32
  %high_part = arith.mulf %k, 0.69313812256 : f32
  %low = arith.addf %low_part, %c : f32
  %far_sum = arith.addf %bent, %low : f32
  %far_bend = arith.subf %half_square, %far_sum : f32
  %far_rest_of_f = arith.subf %far_bend, %f : f32
  %far = arith.subf %high_part, %far_rest_of_f : f32
  %tiny_less = arith.subf %tiny_bend, %low : f32
  %tiny_rest = arith.subf %tiny_less, %f : f32
  %tiny_far = arith.subf %high_part, %tiny_rest : f32
  %power_low = arith.addf %c, %low_part : f32
  %power = arith.addf %high_part, %power_low : f32

  %is_whole = arith.cmpi eq, %whole_k, 0 : i32
  %usual = arith.select %is_whole, %near, %far : f32
  %tiny_f = arith.select %is_whole, %tiny_near, %tiny_far : f32
  %is_power = arith.cmpf oeq, %f, 0.0 : f32
  %of_power = arith.select %is_power, %power, %tiny_f : f32
  %is_at_power = arith.cmpi eq, %rest, 0 : i32
  %number = arith.select %is_at_power, %of_power, %usual : f32

  // below 2^-29 two terms, below 2^-54 one
  %size = math.absf %x : f32
  %is_small = arith.cmpf olt, %size, 1.862645149230957e-09 : f32
  %is_least = arith.cmpf olt, %size, 5.551115123125783e-17 : f32
  %square = arith.mulf %x, %x : f32
  %half_of_square = arith.mulf %square, 0.5 : f32
  %two_terms = arith.subf %x, %half_of_square : f32
  %small = arith.select %is_least, %x, %two_terms : f32
  %inside = arith.select %is_small, %small, %number : f32
  %is_one = arith.cmpf oeq, %x, -1.0 : f32
  %ended = arith.select %is_one, 0xFF800000, %inside : f32
  %is_endless = arith.cmpf oeq, %x, 0x7F800000 : f32
  %open = arith.select %is_endless, %x, %ended : f32
  %is_right = arith.cmpf oge, %x, -1.0 : f32
  %result = arith.select %is_right, %open, 0x7FC00000 : f32
}

// ---------------------------------------------------------------- area functions

// sysdeps/ieee754/flt-32/s_asinhf.c: three formulas, by the size of x
func.func private @asinhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %logarithm = func.call @logf(%size) : (f32) -> f32
  %large = arith.addf %logarithm, 0.69314718246 : f32
  %square = arith.mulf %size, %size : f32
  %more = arith.addf %square, 1.0 : f32
  %root = math.sqrt %more : f32
  %whole = arith.addf %root, %size : f32
  %share = arith.divf 1.0, %whole : f32
  %twice = arith.mulf 2.0, %size : f32
  %argument = arith.addf %twice, %share : f32
  %middle = func.call @logf(%argument) : (f32) -> f32
  %under = arith.addf 1.0, %root : f32
  %part = arith.divf %square, %under : f32
  %small_argument = arith.addf %size, %part : f32
  %small = func.call @log1pf(%small_argument) : (f32) -> f32
  %is_tiny = arith.cmpf olt, %size, 3.0517578125e-05 : f32
  %is_large = arith.cmpf ogt, %size, 32768.0 : f32
  %is_middle = arith.cmpf ogt, %size, 2.0 : f32
  %inner = arith.select %is_middle, %middle, %small : f32
  %number = arith.select %is_large, %large, %inner : f32
  %magnitude = arith.select %is_tiny, %size, %number : f32
  %result = math.copysign %magnitude, %x : f32
}

// sysdeps/ieee754/flt-32/e_acoshf.c: of x below 1 it is NaN
func.func private @acoshf(%x: f32) -> f32 {
  %logarithm = func.call @logf(%x) : (f32) -> f32
  %large = arith.addf %logarithm, 0.69314718246 : f32
  %square = arith.mulf %x, %x : f32
  %less = arith.subf %square, 1.0 : f32
  %root = math.sqrt %less : f32
  %whole = arith.addf %x, %root : f32
  %share = arith.divf 1.0, %whole : f32
  %twice = arith.mulf 2.0, %x : f32
  %argument = arith.subf %twice, %share : f32
  %middle = func.call @logf(%argument) : (f32) -> f32
  %over = arith.subf %x, 1.0 : f32
  %double = arith.mulf 2.0, %over : f32
  %over_square = arith.mulf %over, %over : f32
  %both = arith.addf %double, %over_square : f32
  %small_root = math.sqrt %both : f32
  %small_argument = arith.addf %over, %small_root : f32
  %small = func.call @log1pf(%small_argument) : (f32) -> f32
  %is_large = arith.cmpf oge, %x, 268435456.0 : f32
  %is_middle = arith.cmpf ogt, %x, 2.0 : f32
  %inner = arith.select %is_middle, %middle, %small : f32
  %number = arith.select %is_large, %large, %inner : f32
  %is_right = arith.cmpf oge, %x, 1.0 : f32
  %result = arith.select %is_right, %number, 0x7FC00000 : f32
}

// sysdeps/ieee754/flt-32/e_atanhf.c: half of a logarithm of 1 + x
func.func private @atanhf(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %twice = arith.addf %size, %size : f32
  %under = arith.subf 1.0, %size : f32
  %product = arith.mulf %twice, %size : f32
  %share = arith.divf %product, %under : f32
  %near = arith.addf %twice, %share : f32
  %far = arith.divf %twice, %under : f32
  %is_near = arith.cmpf olt, %size, 0.5 : f32
  %argument = arith.select %is_near, %near, %far : f32
  %logarithm = func.call @log1pf(%argument) : (f32) -> f32
  %half = arith.mulf 0.5, %logarithm : f32
  %is_tiny = arith.cmpf olt, %size, 3.725290298461914e-09 : f32
  %inside = arith.select %is_tiny, %size, %half : f32
  %is_one = arith.cmpf oeq, %size, 1.0 : f32
  %ended = arith.select %is_one, 0x7F800000, %inside : f32
  %is_right = arith.cmpf ole, %size, 1.0 : f32
  %magnitude = arith.select %is_right, %ended, 0x7FC00000 : f32
  %result = math.copysign %magnitude, %x : f32
}

// ---------------------------------------------------------------- error function

// sysdeps/ieee754/flt-32/s_erff.c: quotients of polynomials, below 0.84375 of x^2, below 1.25 of
// |x| - 1, and up to 6 of 1 / x^2, times exponentials of two parts of -x^2.
func.func private @erff(%x: f32) -> f32 {
  %size = math.absf %x : f32
  %square = arith.mulf %x, %x : f32
  %above = func.call @erff_near_above(%square) : (f32) -> f32
  %below = func.call @erff_near_below(%square) : (f32) -> f32
  %quotient = arith.divf %above, %below : f32
  %bend = arith.mulf %x, %quotient : f32
  %near = arith.addf %x, %bend : f32
  %part = arith.mulf 0.128379166, %x : f32
  %two_terms = arith.addf %x, %part : f32
  %sixteen = arith.mulf 16.0, %x : f32
  %part_of_sixteen = arith.mulf 2.05406666, %x : f32
  %of_sixteen = arith.addf %sixteen, %part_of_sixteen : f32
  %least = arith.mulf 0.0625, %of_sixteen : f32

  %over = arith.subf %size, 1.0 : f32
  %middle_above = func.call @erff_middle_above(%over) : (f32) -> f32
  %middle_below = func.call @erff_middle_below(%over) : (f32) -> f32
  %middle_quotient = arith.divf %middle_above, %middle_below : f32
  %middle = arith.addf 0.845062912, %middle_quotient : f32

  %size_square = arith.mulf %size, %size : f32
  %inverse = arith.divf 1.0, %size_square : f32
  %far_above = func.call @erff_far_above(%inverse) : (f32) -> f32
  %far_below = func.call @erff_far_below(%inverse) : (f32) -> f32
  %last_above = func.call @erff_last_above(%inverse) : (f32) -> f32
  %last_below = func.call @erff_last_below(%inverse) : (f32) -> f32
  %is_far = arith.cmpf olt, %size, 2.85714293 : f32
  %outer_above = arith.select %is_far, %far_above, %last_above : f32
  %outer_below = arith.select %is_far, %far_below, %last_below : f32
  %outer = arith.divf %outer_above, %outer_below : f32
  %bits = arith.bitcast %size : f32 to i32
  %high_bits = arith.andi %bits, -4096 : i32
  %high = arith.bitcast %high_bits : i32 to f32
  %opposite = arith.negf %high : f32
  %high_square = arith.mulf %opposite, %high : f32
  %first = arith.subf %high_square, 0.5625 : f32
  %difference = arith.subf %high, %size : f32
  %sum = arith.addf %high, %size : f32
  %low_square = arith.mulf %difference, %sum : f32
  %second = arith.addf %low_square, %outer : f32
  %power = func.call @expf(%first) : (f32) -> f32
  %other_power = func.call @expf(%second) : (f32) -> f32
  %product = arith.mulf %power, %other_power : f32
  %share = arith.divf %product, %size : f32
  %far = arith.subf 1.0, %share : f32

  %is_below_six = arith.cmpf olt, %size, 6.0 : f32
  %beyond = arith.select %is_below_six, %far, 1.0 : f32
  %is_middle = arith.cmpf olt, %size, 1.25 : f32
  %magnitude = arith.select %is_middle, %middle, %beyond : f32
  %signed = math.copysign %magnitude, %x : f32
  %is_near = arith.cmpf olt, %size, 0.84375 : f32
  %usual = arith.select %is_near, %near, %signed : f32
  %is_small = arith.cmpf olt, %size, 3.7252903e-09 : f32
  %not_least = arith.select %is_small, %two_terms, %usual : f32
  %is_least = arith.cmpf olt, %size, 1.50463277e-36 : f32
  %number = arith.select %is_least, %least, %not_least : f32
  %is_number = arith.cmpf oeq, %x, %x : f32
  %result = arith.select %is_number, %number, %x : f32
}

func.func private @erff_near_above(%z: f32) -> f32 {
  %p3 = arith.mulf %z, -2.37630175e-05 : f32
  %c3 = arith.addf -0.00577027025, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -0.0284817498, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf -0.325042099, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 0.128379166, %p0 : f32
}

func.func private @erff_near_below(%z: f32) -> f32 {
  %p4 = arith.mulf %z, -3.96022824e-06 : f32
  %c4 = arith.addf 0.000132494737, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 0.00508130621, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 0.0650222525, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 0.397917211, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

func.func private @erff_middle_above(%z: f32) -> f32 {
  %p5 = arith.mulf %z, -0.00216637552 : f32
  %c5 = arith.addf 0.0354783051, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf -0.110894695, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 0.31834662, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -0.37220788, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 0.414856106, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf -0.00236211857, %p0 : f32
}

func.func private @erff_middle_below(%z: f32) -> f32 {
  %p5 = arith.mulf %z, 0.0119845001 : f32
  %c5 = arith.addf 0.0136370836, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf 0.126171216, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 0.0718286559, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 0.540397942, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 0.106420882, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

func.func private @erff_far_above(%z: f32) -> f32 {
  %p6 = arith.mulf %z, -9.81432915 : f32
  %c6 = arith.addf -81.2874374, %p6 : f32
  %p5 = arith.mulf %z, %c6 : f32
  %c5 = arith.addf -184.605087, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf -162.396667, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf -62.3753319, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -10.5586262, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf -0.693858564, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf -0.00986494403, %p0 : f32
}

func.func private @erff_far_below(%z: f32) -> f32 {
  %p7 = arith.mulf %z, -0.0604244135 : f32
  %c7 = arith.addf 6.57024956, %p7 : f32
  %p6 = arith.mulf %z, %c7 : f32
  %c6 = arith.addf 108.635002, %p6 : f32
  %p5 = arith.mulf %z, %c6 : f32
  %c5 = arith.addf 429.008148, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf 645.387268, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 434.565887, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 137.657761, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 19.6512718, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

func.func private @erff_last_above(%z: f32) -> f32 {
  %p5 = arith.mulf %z, -483.519196 : f32
  %c5 = arith.addf -1025.09509, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf -637.566467, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf -160.636383, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf -17.7579556, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf -0.799283266, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf -0.0098649431, %p0 : f32
}

func.func private @erff_last_below(%z: f32) -> f32 {
  %p6 = arith.mulf %z, -22.4409523 : f32
  %c6 = arith.addf 474.528534, %p6 : f32
  %p5 = arith.mulf %z, %c6 : f32
  %c5 = arith.addf 2553.05029, %p5 : f32
  %p4 = arith.mulf %z, %c5 : f32
  %c4 = arith.addf 3199.85815, %p4 : f32
  %p3 = arith.mulf %z, %c4 : f32
  %c3 = arith.addf 1536.72961, %p3 : f32
  %p2 = arith.mulf %z, %c3 : f32
  %c2 = arith.addf 325.792511, %p2 : f32
  %p1 = arith.mulf %z, %c2 : f32
  %c1 = arith.addf 30.3380604, %p1 : f32
  %p0 = arith.mulf %z, %c1 : f32
  %result = arith.addf 1.0, %p0 : f32
}

// ---------------------------------------------------------------- arc tangent

// sysdeps/ieee754/flt-32/e_atan2f.c: the arc tangent of |y / x|, moved to the quadrant of x and
// y. Where their exponents are more than 60 apart, one is nothing beside the other.
func.func private @atan2f(%y: f32, %x: f32) -> f32 {
  %pi = arith.constant 3.1415927 : f32
  %pi_excess = arith.constant -8.742278e-08 : f32  // what pi is too large by, as it is added
  %right_angle = arith.constant 1.5707964 : f32
  %size = math.absf %y : f32
  %width = math.absf %x : f32
  %size_bits = arith.bitcast %size : f32 to i32
  %width_bits = arith.bitcast %width : f32 to i32
  %bits_apart = arith.subi %size_bits, %width_bits : i32
  %distance = arith.shrsi %bits_apart, 23 : i32
  %x_bits = arith.bitcast %x : f32 to i32
  %is_left = arith.cmpi slt, %x_bits, 0 : i32
  %is_steep = arith.cmpi sgt, %distance, 60 : i32
  %may_be_flat = arith.cmpi slt, %distance, -60 : i32
  %is_flat = arith.andi %may_be_flat, %is_left : i1
  %quotient = arith.divf %y, %x : f32
  %tangent = math.absf %quotient : f32
  %arc = func.call @atanf_of_positive(%tangent) : (f32) -> f32
  %steep = arith.select %is_steep, %right_angle, %arc : f32
  %of_quotient = arith.select %is_flat, 0.0, %steep : f32
  %mirrored_excess = arith.subf %of_quotient, %pi_excess : f32
  %mirrored = arith.subf %pi, %mirrored_excess : f32
  %of_half = arith.select %is_left, %mirrored, %of_quotient : f32
  %x_is_zero = arith.cmpf oeq, %width, 0.0 : f32
  %upright = arith.select %x_is_zero, %right_angle, %of_half : f32
  %along = arith.select %is_left, %pi, 0.0 : f32
  %y_is_zero = arith.cmpf oeq, %size, 0.0 : f32
  %level = arith.select %y_is_zero, %along, %upright : f32
  %x_is_infinite = arith.cmpf oeq, %width, 0x7F800000 : f32
  %endless = arith.select %x_is_infinite, %along, %level : f32
  %eighth = arith.constant 0.7853982 : f32
  %three_eighths = arith.mulf 3.0, %eighth : f32
  %diagonal = arith.select %is_left, %three_eighths, %eighth : f32
  %to_infinity = arith.select %x_is_infinite, %diagonal, %right_angle : f32
  %y_is_infinite = arith.cmpf oeq, %size, 0x7F800000 : f32
  %magnitude = arith.select %y_is_infinite, %to_infinity, %endless : f32
  %angle = math.copysign %magnitude, %y : f32
  %sum = arith.addf %x, %y : f32
  %x_is_nan = arith.cmpf une, %x, %x : f32
  %y_is_nan = arith.cmpf une, %y, %y : f32
  %is_nan = arith.ori %x_is_nan, %y_is_nan : i1
  %result = arith.select %is_nan, %sum, %angle : f32
}

// sysdeps/ieee754/flt-32/s_atanf.c, of a number that isn't negative: near one of four angles a
// that of x is a plus the arc tangent of (x - tan a) / (1 + x tan a), which is a polynomial. The
// angles are those of 1/2, 1, 3/2 and an infinity, each with what it is too small by.
func.func private @atanf_of_positive(%x: f32) -> f32 {
  %twice = arith.mulf 2.0, %x : f32
  %above_half = arith.subf %twice, 1.0 : f32
  %below_half = arith.addf 2.0, %x : f32
  %above_one = arith.subf %x, 1.0 : f32
  %below_one = arith.addf %x, 1.0 : f32
  %above_middle = arith.subf %x, 1.5 : f32
  %times_middle = arith.mulf 1.5, %x : f32
  %below_middle = arith.addf 1.0, %times_middle : f32

  %is_half = arith.cmpf oge, %x, 0.4375 : f32
  %of_half = arith.divf %above_half, %below_half : f32
  %rest_half = arith.select %is_half, %of_half, %x : f32
  %high_half = arith.select %is_half, 0.4636476, 0.0 : f32
  %low_half = arith.select %is_half, 5.0121582e-09, 0.0 : f32

  %is_one = arith.cmpf oge, %x, 0.6875 : f32
  %of_one = arith.divf %above_one, %below_one : f32
  %rest_one = arith.select %is_one, %of_one, %rest_half : f32
  %high_one = arith.select %is_one, 0.7853981, %high_half : f32
  %low_one = arith.select %is_one, 3.7748947e-08, %low_half : f32

  %is_middle = arith.cmpf oge, %x, 1.1875 : f32
  %of_middle = arith.divf %above_middle, %below_middle : f32
  %rest_middle = arith.select %is_middle, %of_middle, %rest_one : f32
  %high_middle = arith.select %is_middle, 0.9827937, %high_one : f32
  %low_middle = arith.select %is_middle, 3.4473217e-08, %low_one : f32

  %is_beyond = arith.cmpf oge, %x, 2.4375 : f32
  %of_infinity = arith.divf -1.0, %x : f32
  %rest = arith.select %is_beyond, %of_infinity, %rest_middle : f32
  %high = arith.select %is_beyond, 1.5707963, %high_middle : f32
  %low = arith.select %is_beyond, 7.5497894e-08, %low_middle : f32

  %square = arith.mulf %rest, %rest : f32
  %fourth = arith.mulf %square, %square : f32
  %odd_times_x4 = arith.mulf 0.016285819933, %fourth : f32
  %odd4 = arith.addf %odd_times_x4, 0.049768779427 : f32
  %odd_times_x3 = arith.mulf %odd4, %fourth : f32
  %odd3 = arith.addf %odd_times_x3, 0.066610731184 : f32
  %odd_times_x2 = arith.mulf %odd3, %fourth : f32
  %odd2 = arith.addf %odd_times_x2, 0.090908870101 : f32
  %odd_times_x1 = arith.mulf %odd2, %fourth : f32
  %odd1 = arith.addf %odd_times_x1, 0.14285714924 : f32
  %odd_times_x0 = arith.mulf %odd1, %fourth : f32
  %odd = arith.addf %odd_times_x0, 0.33333334327 : f32
  %odd_part = arith.mulf %square, %odd : f32
  %even_times_x3 = arith.mulf -0.036531571299, %fourth : f32
  %even3 = arith.addf %even_times_x3, -0.058335702866 : f32
  %even_times_x2 = arith.mulf %even3, %fourth : f32
  %even2 = arith.addf %even_times_x2, -0.076918758452 : f32
  %even_times_x1 = arith.mulf %even2, %fourth : f32
  %even1 = arith.addf %even_times_x1, -0.11111110449 : f32
  %even_times_x0 = arith.mulf %even1, %fourth : f32
  %even = arith.addf %even_times_x0, -0.20000000298 : f32
  %even_part = arith.mulf %fourth, %even : f32
  %both = arith.addf %odd_part, %even_part : f32
  %product = arith.mulf %rest, %both : f32
  %less_low = arith.subf %product, %low : f32
  %less_rest = arith.subf %less_low, %rest : f32
  %far = arith.subf %high, %less_rest : f32
  %near = arith.subf %x, %product : f32
  %is_near = arith.cmpf olt, %x, 0.4375 : f32
  %arc = arith.select %is_near, %near, %far : f32
  %is_tiny = arith.cmpf olt, %x, 1.862645149230957e-09 : f32
  %not_tiny = arith.select %is_tiny, %x, %arc : f32
  %is_large = arith.cmpf oge, %x, 33554432.0 : f32
  %result = arith.select %is_large, 1.5707964, %not_tiny : f32
}

// ---------------------------------------------------------------- remainder

// sysdeps/ieee754/flt-32/e_fmodf.c, which is exact: with x = m 2^p and y = n 2^q, m and n below
// 2^24, it is (m 2^(p - q) mod n) 2^q. Of the up to 253 places that m is moved by, 39 are at a time.
func.func private @fmodf(%x: f32, %y: f32) -> f32 {
  %size = math.absf %x : f32
  %divisor = math.absf %y : f32
  %m, %p = func.call @significand(%size) : (f32) -> (i64, i64)
  %any_n, %q = func.call @significand(%divisor) : (f32) -> (i64, i64)
  %n = arith.maxsi %any_n, 1 : i64
  %distance = arith.subi %p, %q : i64
  %rest1 = func.call @remainder_step(%m, %n, %distance, 0) : (i64, i64, i64, i64) -> i64
  %rest2 = func.call @remainder_step(%rest1, %n, %distance, 39) : (i64, i64, i64, i64) -> i64
  %rest3 = func.call @remainder_step(%rest2, %n, %distance, 78) : (i64, i64, i64, i64) -> i64
  %rest4 = func.call @remainder_step(%rest3, %n, %distance, 117) : (i64, i64, i64, i64) -> i64
  %rest5 = func.call @remainder_step(%rest4, %n, %distance, 156) : (i64, i64, i64, i64) -> i64
  %rest6 = func.call @remainder_step(%rest5, %n, %distance, 195) : (i64, i64, i64, i64) -> i64
  %rest7 = func.call @remainder_step(%rest6, %n, %distance, 234) : (i64, i64, i64, i64) -> i64
  %magnitude = func.call @scaled_significand(%rest7, %q) : (i64, i64) -> f32
  %signed = math.copysign %magnitude, %x : f32
  %is_less = arith.cmpf olt, %size, %divisor : f32
  %rest = arith.select %is_less, %x, %signed : f32
  %is_finite = arith.cmpf olt, %size, 0x7F800000 : f32
  %is_positive = arith.cmpf ogt, %divisor, 0.0 : f32
  %is_defined = arith.andi %is_finite, %is_positive : i1
  %result = arith.select %is_defined, %rest, 0x7FC00000 : f32
}

func.func private @remainder_step(%m: i64, %n: i64, %distance: i64, %done: i64) -> i64 {
  %left = arith.subi %distance, %done : i64
  %at_most = arith.minsi %left, 39 : i64
  %places = arith.maxsi %at_most, 0 : i64
  %moved = arith.shli %m, %places : i64
  %result = arith.remsi %moved, %n : i64
}

// Significand and biased exponent of a number that isn't negative: a subnormal one has the
// exponent 1.
func.func private @significand(%magnitude: f32) -> (i64, i64) {
  %bits = arith.bitcast %magnitude : f32 to i32
  %stored = arith.shrsi %bits, 23 : i32
  %fraction = arith.andi %bits, 8388607 : i32
  %is_subnormal = arith.cmpi slt, %stored, 1 : i32
  %normal = arith.addi %fraction, 8388608 : i32
  %whole = arith.select %is_subnormal, %fraction, %normal : i32
  %exponent = arith.maxsi %stored, 1 : i32
  %whole_wide = arith.extsi %whole : i32 to i64
  %exponent_wide = arith.extsi %exponent : i32 to i64
  func.return %whole_wide, %exponent_wide : i64, i64
}

func.func private @scaled_significand(%whole: i64, %exponent: i64) -> f32 {
  %biased = arith.addi %exponent, 873 : i64
  %bits = arith.shli %biased, 52 : i64
  %power = arith.bitcast %bits : i64 to f64
  %real = arith.sitofp %whole : i64 to f64
  %wide = arith.mulf %real, %power : f64
  %result = arith.truncf %wide : f64 to f32
}

}
