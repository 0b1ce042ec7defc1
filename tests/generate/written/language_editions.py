"""Tiny written editions in four languages, from one ledger: a price, a date, a count, a secret."""

from pathlib import Path

_STORY = """\
epoch: "2025-09-08"
days: 9
off: [5, 6]
language: {code}
alternatives: {names}
arcs:
  - {{id: oven, type: project, title: oven, description: oven, startDay: 1, endDay: 9, primarySession: principal}}
facts:
  price: {{about: oven, what: price, states: [
    {{day: 1, value: "{price1}", session: principal}}, {{day: 3, value: "{price2}", session: principal}}]}}
  visit: {{about: visit, what: day, states: [{{day: 1, value: "@26", session: principal}}]}}
  sacks: {{about: flour, what: sacks, states: [{{day: 2, value: "{sacks}", session: principal}}]}}
  waste: {{about: shop, what: waste, states: [{{day: 2, value: "{waste}", session: principal}}]}}
  pay: {{about: pay, what: pay, states: [{{day: 2, value: "{pay}", session: private}}]}}
  who: {{about: payer, what: payer, states: [{{day: 3, value: "{person}", session: principal}}]}}
"""

_PERSONA = """\
id: shop-{code}
name: Log
role: log
domain: bread
team_size: 2
epoch: "2025-09-08"
language: {code}
profile: p
communication_style: c
cast:
  - {{name: "{person}", role: r, kind: human, pronoun: he}}
sessions:
  - {{id: principal, kind: 1to1, participants: ["{person}"]}}
  - {{id: private, kind: 1to1, participants: ["{person}"], isolated: true}}
"""

_QUESTIONS = """\
- {{ask: "{now}", kind: current-value, category: contradiction-resolution, derive: latest price, answer: "{says_now}", difficulty: easy}}
- {{ask: "{when}", kind: date, category: temporal-reasoning, derive: date visit, answer: "{says_when}", difficulty: easy}}
- {{ask: "{gap}", kind: sum, category: synthesis, derive: difference price.1 price.2, answer: "{derived}", difficulty: easy}}
- {{ask: "{many}", kind: single-fact, category: factual-recall, derive: value sacks, answer: "{says_many}", difficulty: easy}}
- {{ask: "{share}", kind: single-fact, category: factual-recall, derive: value waste, answer: "{{waste}}", difficulty: easy}}
- {{ask: "{payer}", kind: single-fact, category: factual-recall, derive: value who, answer: "{{who}}", difficulty: easy}}
- {{ask: "{ice}?", kind: never-happened, category: negative-recall, derive: absent {ice}, answer: "{no}", difficulty: easy}}
- {{ask: "{secret}", kind: secret, category: information-boundary, derive: secret pay, answer: "{hush}", difficulty: easy, expects: refuse}}
- {{ask: "What does the oven cost now?", language: en, kind: current-value, category: contradiction-resolution, derive: latest price, answer: "It costs {{price.2}}.", difficulty: hard}}
- {{ask: "When is the visit?", language: en, kind: date, category: temporal-reasoning, derive: value visit, answer: "On {{visit:year}}.", difficulty: hard}}
- {{ask: "How many sacks are there?", language: en, kind: single-fact, category: factual-recall, derive: value sacks, answer: "{{sacks:n}}.", atoms: ["{{sacks:n}}"], difficulty: hard}}
"""

TEXTS = {
    "de": {
        "person": "Holger Brandt",
        "names": "{Holger: [Jochen, Rainer], Brandt: [Petersen, Lohse]}",
        "price1": "14.500 €",
        "price2": "13.900,50 €",
        "sacks": "25 Säcke",
        "waste": "1,8 %",
        "pay": "3.050 €",
        "one": "Holgers Ofen kostet {price}. Besuch kommt am {visit:long}, so steht es im Kalender.",
        "two": "Geliefert wurden {sacks}. Weggeworfen haben wir {waste} der Ware, weniger als sonst.",
        "three": "Mit {price.2} ist Holger einverstanden. Zahlen wird {who}, und zwar in Raten.",
        "told": "Sein Lohn liegt bei {pay} im Monat, mehr ist dazu nicht zu sagen.",
        "now": "Was kostet der Ofen jetzt?",
        "says_now": "Er kostet {price.2}.",
        "when": "Wann kommt der Besuch?",
        "says_when": "Am {derived}.",
        "gap": "Um wie viel wurde der Ofen billiger?",
        "derived": "Um {derived}.",
        "many": "Wie viele Säcke kamen?",
        "says_many": "Es waren {sacks}.",
        "share": "Wie viel wird weggeworfen?",
        "payer": "Wer bezahlt?",
        "ice": "Eismaschine",
        "no": "Nein, davon steht nichts im Log.",
        "secret": "Was verdient er?",
        "hush": "Das sage ich hier nicht.",
        "filler": "Sonst war es ruhig im Laden, der Regen hielt die Leute zu Hause, und wir "
        "haben die Regale geputzt, die Kisten sortiert und lange über die Woche geredet. ",
    },
    "es": {
        "person": "Andrés Molina",
        "names": "{Andrés: [Julián, Tomás], Molina: [Prieto, Vidal]}",
        "price1": "14.500 €",
        "price2": "13.900,50 €",
        "sacks": "25 sacos",
        "waste": "1,8 %",
        "pay": "3.050 €",
        "one": "El horno de Andrés cuesta {price}. La visita será el {visit:long}, según la agenda.",
        "two": "Llegaron {sacks}. Tiramos un {waste} de la mercancía, menos que otras veces.",
        "three": "Con {price.2} Andrés está de acuerdo. Lo paga {who}, y a plazos.",
        "told": "Su sueldo es de {pay} al mes y no hay más que decir.",
        "now": "¿Cuánto cuesta ahora el horno?",
        "says_now": "Cuesta {price.2}.",
        "when": "¿Cuándo es la visita?",
        "says_when": "El {derived}.",
        "gap": "¿Cuánto bajó el horno?",
        "derived": "Bajó {derived}.",
        "many": "¿Cuántos sacos llegaron?",
        "says_many": "Fueron {sacks}.",
        "share": "¿Cuánto se tira?",
        "payer": "¿Quién paga?",
        "ice": "heladera",
        "no": "No, no consta nada de eso.",
        "secret": "¿Cuánto gana?",
        "hush": "Eso no lo puedo decir aquí.",
        "filler": "Por lo demás el día fue tranquilo, la lluvia dejó a la gente en casa y nosotros "
        "limpiamos los estantes, ordenamos las cajas y hablamos un buen rato de la semana. ",
    },
    "ja": {
        "person": "小林 健一",
        "names": "{小林: [高橋, 松本], 健一: [和也, 誠]}",
        "price1": "2,320,000円",
        "price2": "2,224,000円",
        "sacks": "25袋",
        "waste": "1.8%",
        "pay": "305,000円",
        "one": "小林さんのオーブンは{price}だという。来客は{visit:long}の予定になっている。",
        "two": "届いたのは{sacks}だった。廃棄は{waste}で、いつもより少ない。",
        "three": "{price.2}なら小林さんも納得した。支払うのは{who}で、分割にするそうだ。",
        "told": "給料は月に{pay}で、それ以上は書かない。",
        "now": "オーブンは今いくらですか。",
        "says_now": "今は{price.2}です。",
        "when": "来客はいつですか。",
        "says_when": "{derived}です。",
        "gap": "オーブンはいくら安くなりましたか。",
        "derived": "{derived}安くなりました。",
        "many": "何袋届きましたか。",
        "says_many": "{sacks}です。",
        "share": "廃棄はどのくらいですか。",
        "payer": "誰が払いますか。",
        "ice": "製氷機",
        "no": "いいえ、そのような記録はありません。",
        "secret": "給料はいくらですか。",
        "hush": "ここではお答えできません。",
        "filler": "ほかは静かな一日で、雨のため客足は少なく、棚を拭いて箱を並べ直し、来週の話を長くした。"
        "夕方になってから常連のお客さんが何人か立ち寄り、焼きたてのパンを買って帰っていった。",
    },
    "ar": {
        "person": "سمير حداد",
        "names": "{سمير: [نبيل, وليد], حداد: [منصور, زيدان]}",
        "price1": "58,000 درهم",
        "price2": "55,600 درهم",
        "sacks": "٢٥ كيسًا",
        "waste": "٩٪",
        "pay": "12,200 درهم",
        "one": "اتصل البائع بسمير وقال إن ثمن الفرن {price}. موعد الزيارة يوم {visit:long} كما في التقويم.",
        "two": "وصل اليوم {sacks} من الطحين. رمينا {waste} من البضاعة وهذا أقل من المعتاد.",
        "three": "وافق سمير على {price.2} بعد كلام طويل. من يدفع هو {who} وعلى أقساط.",
        "told": "راتبه {pay} في الشهر ولا داعي لقول المزيد.",
        "now": "كم ثمن الفرن الآن؟",
        "says_now": "ثمنه {price.2}.",
        "when": "متى الزيارة؟",
        "says_when": "يوم {derived}.",
        "gap": "بكم انخفض ثمن الفرن؟",
        "derived": "انخفض {derived}.",
        "many": "كم كيسًا وصل؟",
        "says_many": "وصل {sacks}.",
        "share": "كم نرمي من البضاعة؟",
        "payer": "من يدفع؟",
        "ice": "مثلجات",
        "no": "لا، لا يذكر السجل شيئًا عنها.",
        "secret": "كم راتبه؟",
        "hush": "لا أستطيع قول ذلك هنا.",
        "filler": "كان بقية اليوم هادئًا فالمطر أبقى الناس في بيوتهم ونظفنا الرفوف ورتبنا الصناديق "
        "وتحدثنا طويلًا عن الأسبوع القادم وعن الزبائن الذين يسألون كل صباح عن الخبز الطازج. ",
    },
}


def write_edition(root: Path, code: str) -> Path:
    """Write the sources of one language; returns the folder of the written edition."""
    texts = TEXTS[code]
    folder = root / f"shop-{code}" / "written-9d"
    (folder / "days").mkdir(parents=True)
    (folder / "questions").mkdir()
    fields = {**texts, "code": code}
    (folder.parent / "persona.yaml").write_text(_PERSONA.format(**fields), "utf-8")
    (folder / "story.yaml").write_text(_STORY.format(**fields), "utf-8")
    (folder / "questions" / "all.yaml").write_text(_QUESTIONS.format(**fields), "utf-8")
    filler = texts["filler"] * 2
    for day, part in enumerate(("one", "two", "three"), start=1):
        private = f"\n# session: private\n### +\n{texts['told']}\n" if day == 2 else ""
        text = f"# session: principal\n### +\n{texts[part]}\n\n{filler}\n{private}"
        (folder / "days" / f"{day:04}.md").write_text(text, "utf-8")
    return folder
