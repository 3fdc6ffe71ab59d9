"""Templates: everything is escaped, and nothing unseen gets through, unless it is made as markup on purpose."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import conformance
from conformance.outcomes import Outcome
from conformance.pairs import BLOCKING
from sweeps.reports.values import brief
from web import links, marks, shares, text
from web.assets import assets
from web.links import NO_LABEL


def _finalized(value: object) -> object:
    # Runs before escaping, on every expression of every template: the default is the safe one.
    return text.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _chip(word: str, flaky: bool = False) -> Markup:
    if not word:
        return Markup('<span class="absent">not planned</span>')
    mark = Markup(' <span class="flaky" title="attempts of this run disagreed">flaky</span>') if flaky else Markup("")
    meaning = marks.MEANING[Outcome.from_word(word)]
    return Markup('<span class="chip o-{}" title="{}">{}</span>{}').format(word, meaning, word, mark)


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "name": text.name, "output": text.output,
        "excerpt": text.excerpt, "count": "{:,}".format, "share": shares.share,
        "duration": shares.duration, "moment": shares.moment, "bar": shares.bar, "chip": _chip,
        "brief": brief,
    }  # fmt: skip
    made.globals |= {
        "links": links, "assets": assets, "version": conformance.__version__, "no_label": NO_LABEL,
        "meaning": {each.word: sentence for each, sentence in marks.MEANING.items()},
        "outcomes": [each.word for each in marks.IN_A_BAR],
        "changes": {each.word: sentence for each, sentence in marks.CHANGE.items()},
        "shorts": {each.word: short for each, short in marks.SHORT.items()},
        "blocking": {each.word for each in BLOCKING},
    }  # fmt: skip
    for name, template in (("parts", "parts.html"), ("models", "models_parts.html")):
        made.globals[name] = made.get_template(template).module
    return made


_ENVIRONMENT: Final = _environment()


def render(template: str, values: Mapping[str, object]) -> str:
    """A page as HTML."""
    return _ENVIRONMENT.get_template(template).render(values)
