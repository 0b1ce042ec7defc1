"""How a language writes dates and numbers: the forms of a story that is not in English."""

import re
from datetime import date
from decimal import Decimal
from functools import cached_property

from recall_bench.core.languages import Language, get_language
from recall_bench.generate.world.fact_values import Dates, FactValue, parse_value

_ARABIC_DIGITS = "٠١٢٣٤٥٦٧٨٩"
_SWAP = str.maketrans(".,", ",.")
_FIGURES = re.compile(r"\d[\d.,]*\d|\d")
_CURRENCIES = {"€": "€", "円": "¥", "درهم": "AED "}
"""A currency as the languages write it after the sum, and as English writes it before."""
_MONEY = re.compile(rf"(?P<sum>{_FIGURES.pattern})\s?(?P<unit>{'|'.join(_CURRENCIES)})")


class LocalDates(Dates):
    """The calendar of a story in another language."""

    def __init__(self, epoch: date, language: Language) -> None:
        super().__init__(epoch, "day-first")
        self.language = language

    def format_day(self, day: int) -> str:
        """The date of a story day with its year."""
        return self.format_form(day, "year")

    def format_form(self, day: int, form: str) -> str:
        """The date of a story day in one of the forms of a slot."""
        language = self.language
        at = self.get_date(day)
        forms = {
            "long": language.long_date,
            "year": language.full_date,
            "day": language.day,
            "month": language.month,
            "weekday": "{weekday}",
            "iso": "{y}-{m:02}-{d:02}",
        }
        return forms.get(form, language.bare_date).format(
            d=at.day,
            m=at.month,
            y=at.year,
            month=language.months[at.month - 1],
            weekday=language.weekdays[at.weekday()],
        )

    def list_spellings(self, day: int, *, without_year: bool = True) -> tuple[str, ...]:
        """Other ways to write it."""
        forms = ("iso", "") if without_year else ("iso",)
        return tuple(self.format_form(day, form) for form in forms)


class NumberStyle:
    """How the numbers of a language are written: separators, digits and currencies.

    Numbers are drawn and added in the English form; `make_plain` and `make_local` lead there and
    back.
    """

    def __init__(self, code: str) -> None:
        self._language = get_language(code)

    @cached_property
    def is_english(self) -> bool:
        """Whether there is nothing to do."""
        return self._language.code == "en"

    def is_money(self, written: str) -> bool:
        """Whether a value is a sum with its currency behind it."""
        return _MONEY.fullmatch(written) is not None

    def make_plain(self, written: str) -> str:
        """The same with English digits and separators; the words around the number stay."""
        if self.is_english:
            return written
        western = written.translate(str.maketrans(_ARABIC_DIGITS, "0123456789"))
        if not self._language.has_decimal_comma:
            return western
        return _FIGURES.sub(lambda found: found[0].translate(_SWAP), western)

    def make_local(self, plain: str, like: str) -> str:
        """An English number in the language's own form, with the digits of `like`."""
        if self.is_english:
            return plain
        if self._language.has_decimal_comma:
            plain = _FIGURES.sub(lambda found: found[0].translate(_SWAP), plain)
        if any(digit in like for digit in _ARABIC_DIGITS):
            plain = plain.translate(str.maketrans("0123456789", _ARABIC_DIGITS))
        return plain

    def parse(self, kind: str, written: str) -> FactValue:
        """A value as an author wrote it."""
        return FactValue(kind, written, amount=parse_value(kind, self.make_plain(written)).amount)

    def replace_number(self, written: str, amount: Decimal) -> str:
        """The same words with another number."""
        plain = self.make_plain(written)
        figures = f"{amount:,.2f}" if amount % 1 and "." in plain else f"{amount:,}"
        return self.make_local(_FIGURES.sub(figures, plain, count=1), written)

    def list_spellings(self, written: str) -> tuple[str, ...]:
        """The number without separators of thousands."""
        plain = self.make_plain(written)
        other = self.make_local(re.sub(r"(?<=\d),(?=\d{3})", "", plain), written)
        return (other,) if other != written else ()

    def translate(self, value: FactValue) -> FactValue:
        """The value as an English sentence writes it: `€14,200` for `14.200 €`."""
        plain = self.make_plain(value.text)
        money = _MONEY.fullmatch(plain) if value.kind == "money" else None
        text = _CURRENCIES[money["unit"]] + money["sum"] if money else plain
        return FactValue(value.kind, text, amount=value.amount, day=value.day)
