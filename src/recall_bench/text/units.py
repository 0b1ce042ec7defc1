"""Units of measure: their spellings, their sizes, and how near a conversion has to come."""

UNITS = {
    "percent": "%", "per cent": "%", "pct": "%", "percentage point": "%", "basis point": "bp",
    "times": "x", "s": "second", "sec": "second", "min": "minute", "h": "hour", "hr": "hour",
    "wk": "week", "yr": "year", "ms": "ms", "millisecond": "ms", "kilogram": "kg", "gram": "g",
    "kilo": "kg", "milligram": "mg", "gramme": "g", "kilogramme": "kg", "tonne": "tonne",
    "kilometre": "km", "kilometer": "km", "metre": "metre", "meter": "metre",
    "centimetre": "cm", "centimeter": "cm", "millimetre": "mm", "millimeter": "mm",
    "litre": "l", "liter": "l", "millilitre": "ml", "milliliter": "ml",
    "centilitre": "cl", "centiliter": "cl", "decilitre": "dl", "deciliter": "dl",
    "microlitre": "ul", "microliter": "ul", "µl": "ul", "μl": "ul",
    "microgram": "ug", "mcg": "ug", "µg": "ug", "μg": "ug",
    "micrometre": "µm", "micrometer": "µm", "micron": "µm", "μm": "µm",
    "cubic metre": "m3", "cubic meter": "m3",
    "st": "th", "nd": "th", "rd": "th", "dollar": "usd", "euro": "eur", "pound": "gbp",
    "franc": "chf", "swiss franc": "chf",
    "°c": "°c", "degrees celsius": "°c", "degree celsius": "°c", "degrees c": "°c",
    "°f": "°f", "degrees fahrenheit": "°f", "degree fahrenheit": "°f", "degrees f": "°f",
    "foot": "ft", "feet": "ft", "inches": "inch", "lb": "lb", "lbs": "lb", "ounce": "oz",
    "kilometres per hour": "km/h", "kilometers per hour": "km/h", "kilometres an hour": "km/h",
    "kilometers an hour": "km/h", "kph": "km/h", "miles per hour": "mph", "miles an hour": "mph",
    "kilobyte": "kb", "megabyte": "mb", "gigabyte": "gb", "terabyte": "tb",
    "cent": "cent",
}  # fmt: skip
"""One name for each spelling of a unit."""
MEASURES = {
    "ms": (0.001, "s"), "second": (1, "s"), "minute": (60, "s"), "hour": (3_600, "s"),
    "day": (86_400, "s"), "week": (604_800, "s"), "month": (1, "mon"), "year": (12, "mon"),
    "mg": (0.001, "g"), "g": (1, "g"), "kg": (1_000, "g"), "tonne": (1_000_000, "g"),
    "mm": (0.001, "m"), "cm": (0.01, "m"), "metre": (1, "m"), "km": (1_000, "m"),
    "ug": (0.000_001, "g"), "µm": (0.000_001, "m"), "ul": (0.000_001, "l"),
    "ml": (0.001, "l"), "cl": (0.01, "l"), "dl": (0.1, "l"), "l": (1, "l"), "m3": (1_000, "l"),
    "inch": (0.0254, "m"), "ft": (0.3048, "m"), "yard": (0.9144, "m"), "mile": (1_609.344, "m"),
    "oz": (28.349523125, "g"), "lb": (453.59237, "g"),
    "km/h": (1, "km/h"), "mph": (1.609344, "km/h"),
    "kb": (1e3, "byte"), "mb": (1e6, "byte"), "gb": (1e9, "byte"), "tb": (1e12, "byte"),
    "fortnight": (1_209_600, "s"), "decade": (120, "mon"),
}  # fmt: skip
"""How much each unit is of the base unit of its dimension."""
IMPERIAL = frozenset({"inch", "ft", "yard", "mile", "oz", "lb", "mph"})
"""The units whose amounts are compared with metric ones by rounding."""
POUND_GRAMS = 453.59237
"""What a pound weighs, where "pounds" may be a weight."""
CONVERSION_TOLERANCE = 0.015
"""How far a converted amount may be off, which is rounded as a rule."""
DEGREES_TOLERANCE = 0.6
"""The same for temperatures, in degrees Celsius."""
COINS = {"pence": ("gbp",), "cent": ("usd", "eur")}
"""The hundredths of each currency."""
