"""Every snippet of the README and of the documentation runs, and every command line is one.

Python is run, block by block. Of the command, what answers in a moment is run on a small table;
what takes long (`compare`, `reproduce`, `figures`, `explore`), or reads files that are not there,
goes through the command's own parser only. Answers that the tutorial shows must be the right ones,
and so must a block of text right below a block of Python: it is what that prints.
Of other programs the named target, file or extra must exist. How a page marks a block that cannot
run: see tests/snippets.py. It is a skipped test then, whose reason is listed at the end of the run.
"""

import doctest
import re
import shlex
import shutil
import tomllib

import pytest
import typer
from sklearn.datasets import load_iris
from tests.snippets import OTHER, PYTHON, ROOT, SHELL, Block, blocks_of, command_lines, pages

from cayleyklein.cli import main
from cayleyklein.cli._app import app

TEXTS = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in pages()}
BLOCKS = [block for page, text in TEXTS.items() for block in blocks_of(text, page)]
SNIPPETS = [block for block in BLOCKS if block.language in PYTHON]
LINES = [line for page, text in TEXTS.items() for line in command_lines(text, page)]

TABLES = {"flowers.csv", "more-flowers.csv", "new-flowers.csv", "more.csv"}
"""Tables that the pages speak of: iris, with the column `species`."""

DOWNLOADS = {table.name: table for table in (ROOT / "docs" / "_static").glob("*.csv")}
"""Tables that the tutorial offers."""

QUICK = {"--version", "datasets", "fit", "predict", "evaluate", "info", "neighbors"}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def chain(block: Block) -> list[Block]:
    """Return a block with those that it continues."""
    earlier = SNIPPETS[: SNIPPETS.index(block)]
    return [*chain(earlier[-1]), block] if block.continues else [block]


def run(block: Block, names: dict[str, object]) -> None:
    """Run a block; one that shows answers must show the right ones."""
    if ">>>" in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, names, block.name, block.page, 0)
        failed = doctest.DebugRunner(optionflags=OPTIONS).run(test, clear_globs=False)
        names.update(test.globs)
        assert not failed.failed
    else:
        exec(compile(block.code, block.name, "exec"), names)


def copy_downloads(folder):
    clone = folder / "docs" / "_static"
    clone.mkdir(parents=True)
    for table in DOWNLOADS.values():
        shutil.copy(table, folder)
        shutil.copy(table, clone)


def slow_but_of_the_first_pages(block: Block):
    marks = () if block.page in ("README.md", "docs/start.md") else pytest.mark.slow
    return pytest.param(block, id=block.name, marks=marks)


@pytest.mark.parametrize("block", [*map(slow_but_of_the_first_pages, SNIPPETS)])
def test_runs(block, tmp_path, monkeypatch, capsys):
    if block.not_run is not None:
        compile(block.code, block.name, "exec")
        pytest.skip(f"{block.name} is not run: {block.not_run}")
    monkeypatch.chdir(tmp_path)
    copy_downloads(tmp_path)
    names = {"__name__": "snippet"}
    for part in chain(block):
        capsys.readouterr()
        run(part, names)
    if (shown := printed_below(block)) is not None:
        checker, printed = doctest.OutputChecker(), capsys.readouterr().out
        assert checker.check_output(shown, printed, OPTIONS), printed


def printed_below(block: Block) -> str | None:
    """Return the block of text that follows Python with nothing but white space between."""
    at = BLOCKS.index(block) + 1
    below = BLOCKS[at] if at < len(BLOCKS) else None
    if below is None or below.page != block.page or below.language != "text":
        return None
    end = block.line + block.code.count("\n") + 1  # the line of the closing fence
    between = TEXTS[block.page].splitlines()[end : below.line - 1]
    return below.code if not "".join(between).strip() else None


def test_blocks_are_of_known_languages():
    unknown = [
        f"{block.name}: {block.language}"
        for block in BLOCKS
        if block.language not in PYTHON | SHELL | OTHER and not block.language.startswith("{")
    ]
    assert not unknown


# -- command lines ----------------------------------------------------------------------


def parse(arguments):
    """Let the command's own parser judge a command line."""
    group = typer.main.get_command(app)
    with group.make_context("cayleyklein", list(arguments)) as context:
        name, command, rest = group.resolve_command(context, list(arguments))
        if rest not in (["--help"], ["-h"]):
            command.make_context(name, rest, parent=context)


def is_quick(arguments):
    """Say whether a command line is run: a quick command, on tables and models there are."""
    tables = [word for word in arguments if re.search(r"\.(csv|tsv|parquet)(\.\w+)?$", word)]
    written = {arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word in ("-o", "--out")}
    known = TABLES | written | set(DOWNLOADS) | {f"docs/_static/{name}" for name in DOWNLOADS}
    return (arguments[0] in QUICK or "--help" in arguments) and set(tables) <= known


OWN = {page: [] for page in TEXTS}
for place, words in LINES:
    if words[0] == "cayleyklein" or words[:3] == ["python", "-m", "cayleyklein"]:
        OWN[place.partition(":")[0]].append((place, words[words.index("cayleyklein") + 1 :]))
COMMANDS = [line for lines in OWN.values() for line in lines]


@pytest.mark.parametrize(
    "arguments", [pytest.param(line, id=place) for place, line in COMMANDS if len(line)]
)
def test_command_parses(arguments):
    if arguments[0].startswith("--"):
        return  # options of the command itself are no commands: test_quick_commands runs one
    parse(arguments)


@pytest.mark.parametrize("page", [page for page, lines in OWN.items() if lines])
def test_quick_commands_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    iris = load_iris(as_frame=True)
    table = iris.frame.assign(species=iris.target_names[iris.target]).drop(columns="target")
    for name in TABLES:
        table.sample(60, random_state=len(name)).to_csv(name, index=False)
    copy_downloads(tmp_path)
    for place, arguments in OWN[page]:
        if arguments and is_quick(arguments):
            code = main(arguments)
            assert code == 0, f"{place}: {capsys.readouterr().err}"


def test_the_tutorial_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    """Remarks come before results, as a terminal shows them."""
    monkeypatch.chdir(tmp_path)
    copy_downloads(tmp_path)
    checker = doctest.OutputChecker()
    blocks = [block for block in BLOCKS if block.page == "docs/tutorial.md"]
    shown = "".join(block.code for block in blocks if block.language == "console")
    for line, answer in re.findall(r"^\$ cayleyklein (.+)\n((?:(?!\$ ).*\n)*)", shown, re.M):
        arguments = shlex.split(line)
        if is_quick(arguments):
            assert main(arguments) == 0
            out, err = capsys.readouterr()
            assert checker.check_output(answer, err + out, OPTIONS), line


def test_other_programs_have_what_is_named():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for place, words in LINES:
        if words[0] == "make":
            targets = [word for word in words[1:] if "=" not in word]
            for target in targets:
                assert re.search(rf"^{re.escape(target)}:", makefile, re.M), f"{place}: {target}"
        elif words[0] == "python" and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), f"{place}: {words[1]}"
        extras = re.findall(r"cayleyklein\[([\w,]+)\]", " ".join(words))
        for extra in ",".join(extras).split(",") if extras else []:
            assert extra in project["optional-dependencies"], f"{place}: {extra}"
