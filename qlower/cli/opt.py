"""`qlower-opt`: an `xdsl-opt` with our dialects, our passes and source locations."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.targets.mlir import MLIRTarget
from xdsl.universe import Universe
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import (
    ArgSpecParseError,
    DiagnosticException,
    ShrinkException,
    VerifyException,
)
from xdsl.xdsl_opt_main import xDSLOptMain

from qlower.cli.colour import complain
from qlower.cli.exit_codes import ExitCode, ending, exit_codes
from qlower.cli.output import show, terminal_width
from qlower.cli.parser import ArgumentParser
from qlower.cli.tables.pass_table import pass_table
from qlower.compilation.passes import CompilerBug, pipeline_text
from qlower.diagnostics import QlowerError
from qlower.model.contract_files import name_contracts_from, name_contracts_from_here
from qlower.model.printing import ExactPrinter, exact_module
from qlower.process.garbage import keep_freed_memory, search_rarely
from qlower.text.context import input_dialects
from qlower.text.parsing import parse_module
from qlower.text.pass_options import quote_options
from qlower.text.verification import verify_module
from qlower.universe import QLOWER_UNIVERSE
from qlower.version import __version__

DESCRIPTION = """Run passes on MLIR text.

example:
  qlower-opt model.mlir -p 'lower-qnn{contract=tflite},canonicalize,cse,dce'
  qlower-opt model.mlir -p 'lower-qnn{contract=./my_npu.mlir}'
"""

PASSES_WIDTH = 100
"""Characters of a line of the list of passes in a file or a pipe: it is read, as help
is."""

PASSES_HELP = "Passes with their options, separated by commas (see --list-passes)"


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """xDSL's help, which names all passes in one paragraph, without that."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return PASSES_HELP if action.dest == "passes" else action.help


@dataclass(frozen=True)
class ExactTarget(MLIRTarget):
    """MLIR text in which every float keeps its bits."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        if self.syntax_highlight:
            return super().emit(ctx, module, output)
        printer = ExactPrinter(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        print("\n", file=output)


class QlowerOptMain(xDSLOptMain):
    """The tool; dialects and passes are found through the `xdsl.universe` plug-in."""

    version_format: ClassVar[str] = f"qlower-opt {__version__} (xDSL {{xdsl_version}})"

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        # xDSL makes the parser; this class reports errors as all our commands do.
        arg_parser.__class__ = ArgumentParser
        arg_parser.prog = "qlower-opt"
        arg_parser.formatter_class = _HelpFormatter
        arg_parser.epilog = exit_codes()
        arg_parser.add_argument(
            "--list-passes",
            action="store_true",
            help="List the passes, what they do and the options that they take",
        )
        arg_parser.add_argument(
            "-V",
            action="version",
            version=self.version_format.format(xdsl_version=version("xdsl")),
            help="The same as --version",
        )

    def register_all_dialects(self) -> None:

        # The plug-in has ours already, unless qlower runs without installation; what we
        # read of upstream's takes the place of xDSL's.
        dialects = {
            **Universe.get_multiverse().all_dialects,
            **QLOWER_UNIVERSE.all_dialects,
            **input_dialects(),
        }
        for name, factory in dialects.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, factory in QLOWER_UNIVERSE.all_passes.items():
            self.available_passes.setdefault(name, factory)

    def register_all_targets(self) -> None:
        self.available_targets["mlir"] = lambda: ExactTarget
        super().register_all_targets()

    def run(self) -> None:
        if self.args.list_passes:
            table = pass_table(self.available_passes)
            show(table.render(width=terminal_width() or PASSES_WIDTH))
        else:
            super().run()

    def setup_pipeline(self) -> None:
        """As in xDSL, with errors that name the closest pass."""
        self.args.passes = quote_options(self.args.passes)
        try:
            for spec in parse_pipeline(self.args.passes):
                if spec.name not in self.available_passes:
                    close = get_close_matches(spec.name, self.available_passes, n=1)
                    raise QlowerError(
                        f"unknown pass {spec.name!r}",
                        help=f"did you mean {close[0]!r}?" if close else None,
                    )
            super().setup_pipeline()
            self._report_to_stderr()
        except (ArgSpecParseError, ValueError) as error:
            raise QlowerError(f"pass pipeline: {error}") from error

    def _report_to_stderr(self) -> None:
        """Send reports between passes to standard error, apart from the result."""
        report = self.pipeline.callback
        assert report is not None

        def callback(
            previous: ModulePass | None, module: ModuleOp, next: ModulePass | None
        ) -> None:
            with redirect_stdout(sys.stderr):
                report(previous, module, next)

        self.pipeline = replace(self.pipeline, callback=callback)

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        try:
            return super().prepare_input()
        except OSError as error:
            path = self.args.input_file
            raise QlowerError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise QlowerError(f"{self.args.input_file}: {error}") from error

    def prepare_output(self) -> IO[str]:
        try:
            return super().prepare_output()
        except OSError as error:
            path = self.args.output_file
            raise QlowerError(f"cannot write {path}: {error.strerror}") from error

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        if file_extension != "mlir":
            return super().parse_chunk(chunk, file_extension, start_offset)
        try:
            module = parse_module(
                chunk.read(),
                self.get_input_name(),
                context=self.ctx,
                line_offset=start_offset,
                implicit_module=not self.args.no_implicit_module,
            )
        except QlowerError as error:
            return _report(error, expected=self.args.parsing_diagnostics)
        if self.args.input_file is not None:
            name_contracts_from_here(module, Path(self.args.input_file))
        if not self.args.disable_verify:
            try:
                verify_module(module)
            except QlowerError as error:
                return _report(error, expected=self.args.verify_diagnostics)
        return module

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """The text, whose contract files are relative to the file that it goes to."""
        if self.args.output_file is not None:
            name_contracts_from(prog, os.path.dirname(self.args.output_file))
        return super().output_resulting_program(prog)

    def apply_passes(self, prog: ModuleOp) -> None:
        """Apply passes; a refused module is a diagnostic like a failed verification.

        Any other failure of a pass is a CompilerBug.
        """
        given = prog.clone()
        try:
            super().apply_passes(prog)
        except QlowerError as error:
            raise DiagnosticException(str(error)) from error
        except MemoryError:
            raise
        except Exception as error:
            is_bug = not isinstance(error, DiagnosticException | ShrinkException)
            if is_bug or isinstance(error, VerifyException):
                raise self._failure(given, error) from error
            raise

    def _failure(self, before: ModuleOp, error: Exception) -> Exception:
        """The failure of the first pass that fails on what the others make."""
        for step in self.pipeline.passes:
            after = before.clone()
            try:
                step.apply(self.ctx, after)
                after.verify()
            except Exception as found:
                what = f"{step.name}: {type(found).__name__}: {found}"
                return CompilerBug(what, exact_module(before), pipeline_text([step]))
            before = after
        return error


def _report(error: QlowerError, *, expected: bool) -> None:
    """Print an error that a test expects; any other ends the run."""
    if not expected:
        raise error
    print(error)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `qlower-opt`; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    search_rarely()
    keep_freed_memory()

    def run() -> int:
        try:
            QlowerOptMain(DESCRIPTION, given).run()
        except DiagnosticException as error:
            sys.stdout.flush()
            complain(str(error))
            return ExitCode.WRONG_INPUT
        return ExitCode.DONE

    return ending(run, "qlower-opt", given)


if __name__ == "__main__":
    sys.exit(main())
