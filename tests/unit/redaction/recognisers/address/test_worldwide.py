import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import WorldwideAddressRecogniser

REDACTOR = Redactor(recognisers=[WorldwideAddressRecogniser()])


@pytest.mark.parametrize(
    ("before", "address", "after"),
    [  # an envelope: street, unit, place, postcode, country
        ("address: ", "500, Vaidya Chowk, Asansol-713301", ""),
        ("It is at ", "Kunratická 8\n295 32 Vamberk", ""),
        ("moved to ", "Andersenvika 4, 7093 Oslo", " in May"),
        ("at ", "28030 Edeby 55\n Apt. 297\n Tystberga\n Sweden 99178", ""),
        ("Meet me at ", "5100 Quadra 104\n Suite 845\n Evionnaz\n Switzerland 05377", ""),
        ("it is ", "Flat 66, Williams Inlet, East Ryan, TA7W 0DR", ""),
        ("lives at ", "172 Maneeži 75", ", you know"),
        ("> Alma\n> ", "91215 Harjukuja 54\n> Suite 318\n> SEINÄJOKI\n> Finland 38524", ""),
        ("drop it at ", "the corner of Nybyvägen 65 and Mill Road", ""),
        ("", "533 Montes Little\nLake Francisbury, TAS 7000", ""),
        ("my address is ", "9 Grand Rue", ", thanks"),
        ("", "Prolongación Campeche 388, Vieja Jamaica, SLP 40329", ""),
    ],
)
def test_addresses_are_found_from_end_to_end(before, address, after):
    assert REDACTOR.redact(before + address + after) == f"{before}<ADDRESS>{after}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在Kunratická 8, 295 32 Vamberk。", "我住在<ADDRESS>。"),
    ],
)
def test_words_of_other_scripts_may_touch_it(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe 3 Platz-Karten für Zug 12.",
        "Kapitel 3 Weg nach Hause",
        "Das Auto fährt 120 auf der Autobahn 9.",
        "Linie 5 fährt zum Alexanderplatz.",
        "Um 8 am Alexanderplatz?",
        "In den Top 10 Platz 3 erreicht.",
        "Der FC belegte Platz 5 in der Liga.",
        "Alle 5 Minuten kommt ein Bus.",
        "Alle 10 Kinder waren da.",
        "J'ai 3 places pour le concert.",
        "Nous avons 2 cours de maths.",
        "Il y a 5 rues dans le village.",
        "Rendez-vous place de la Bastille à 18 h.",
        "J'ai marché 2 avenues plus loin.",
        "Le cours 3 commence à 10 h.",
        "Chapitre 4 Route du Rhum",
        "Hay 3 calles cerca de la Plaza Mayor.",
        "La Plaza Mayor tiene 237 balcones.",
        "Calle 13 es un grupo de música.",
        "Paseo 3 veces al día con mi perro.",
        "Camino 10 km cada mañana.",
        "Ronda 2 del torneo",
        "Abbiamo 3 strade da scegliere.",
        "Corso 2 di italiano",
        "Largo 2 metri",
        "Mam 3 ulice do przejścia.",
        "os. 5 lat",
        "My 3 favourite books are Dune, Emma and Ulysses.",
        "Back in 1987 Rose Hill was just a village.",
        "Meeting at 10 Tuesday, Room 5, 12345 steps today.",
        "Bob, 25, from Austin, Texas loves hiking.",
        "She is 30, from Springfield, Illinois.",
        "We won 3 Grammys in Los Angeles, California.",
        "I bought 2 Tickets, Order 123456.",
        "Order 10023 Shipped, Monday 12000 units",
        "Page 12, Chapter 5, 2019 Edition",
        "Matthew 5, verse 1200",
        "Section 4, 20000 Leagues Under the Sea",
        "Model X 5, 10000 miles",
        "The World Cup 2022, 32 teams",
        "Class of 1998, 25000 Students",
        "Ford F-150, 35000 miles, Texas",
        "I ran Boston 26, 10000 Runners joined.",
        "Our flight AA 123 to Dallas, TX was late.",
        "I moved from Portland, OR to Austin, TX in 2019.",
        "I flew from Boston, MA on 12 May 2024.",
        "In Paris, 20000 People marched.",
        "Steps: 1 Preheat oven, 2 Mix flour, 3 Bake",
        "1 Corinthians 13, 2 Timothy 3",
        "Bus 42, Line 7, Platform 3",
        "Gate 23, Terminal 5, Flight 1234",
        "Room 12, Building 5 has the lab.",
        "Unit 3, Lesson 5, Page 40000",
        "The flat 5 miles from here is nice.",
        "suite 7 of Bach, suite 3 of Handel",
        "Apartment 3 is empty and apartment 5 is full.",
        "3 students from unit 5 and 4 from unit 6",
        "I have 2 cats in apartment 12",
        "We need 10 chairs in suite 300 today",
        "He was number 7 in unit 731",
        "Add 2 tbsp, 3 tsp and 1 cup; oven 350 F",
        "It costs 12 Euros, 50 Cents.",
        "Python 3 Drive API and Google Drive 2",
        "The 12 Step Way to Sobriety",
        "The 39 Steps and 21 Jump are films.",
        "I finished 3 Trail races and 2 Road races.",
        "We hiked 12 Mile Creek trail on Sunday.",
        "My team lost 2 Court cases.",
    ],
)
def test_what_only_looks_like_an_address_stays(text):
    assert REDACTOR.redact(text) == text
