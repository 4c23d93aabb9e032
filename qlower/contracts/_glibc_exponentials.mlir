// Exponentials, logarithms and powers of the GNU C library (up to 2.40), as `_glibc.mlir` has its
// other functions.

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

}
