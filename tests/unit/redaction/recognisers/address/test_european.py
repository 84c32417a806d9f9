import pytest

from discreet.redaction import Redactor
from discreet.redaction.recognisers.address import EuropeanAddressRecogniser

REDACTOR = Redactor(recognisers=[EuropeanAddressRecogniser()])


@pytest.mark.parametrize(
    ("before", "address", "after"),
    [  # order of the parts: Universal Postal Union, addressing solutions by country
        ("Ich wohne in der ", "Hauptstraße 12, 10115 Berlin", "."),
        ("Meine Adresse: ", "Am Markt 5, 04109 Leipzig", ""),
        ("", "Lindenweg 7a", " ist mein Zuhause"),
        ("", "Unter den Linden 77, 10117 Berlin, Deutschland", ""),
        ("J'habite au ", "15 bis rue Victor Hugo, 69002 Lyon", ", merci"),
        ("Mon adresse est ", "8 boulevard Saint-Michel, 75005 Paris, France", "."),
        ("", "3, place de la République, 13001 Marseille", ""),
        ("Vivo en ", "Avenida de la Constitución 15, 41001 Sevilla", "."),
        ("", "C/ Gran Vía, 28, 2º izq, 28013 Madrid", ""),
        ("Mi dirección es ", "Calle de Alcalá, 45, Madrid", "."),
        ("Abito in ", "Via Garibaldi 22, 20121 Milano", "."),
        ("", "Piazza del Duomo, 1, 50122 Firenze FI", ""),
        ("Mieszkam na ", "ul. Marszałkowskiej 10/12 m. 5, 00-590 Warszawa", ""),
        ("", "al. Jana Pawła II 34, 31-864 Kraków", ""),
        ("", "Keizersgracht 123, 1015 CJ Amsterdam", ""),
        ("", "Rua Augusta, 1500, São Paulo", ""),
        ("", "Drottninggatan 71, 111 36 Stockholm", ""),
        ("", "Atatürk Cad. No: 15/3, 06420 Ankara", ""),
    ],
)
def test_addresses_are_found_from_end_to_end(before, address, after):
    assert REDACTOR.redact(before + address + after) == f"{before}<ADDRESS>{after}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在Hauptstraße 12, 10115 Berlin。", "我住在<ADDRESS>。"),
        ("адрес: Calle Mayor 5, 28013 Madrid", "адрес: <ADDRESS>"),
    ],
)
def test_words_of_other_scripts_may_touch_it(text, expected):
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Katie 5 and Bertie 7 are my kids.",
        "Watergate 50 years on",
        "We went via Route 66 in 1998.",
        "Via Zoom 3 people joined.",
        "Brigade 2 went home.",
        "Place 2 eggs in a pan.",
        "Place 3 Cards face up.",
        "Rue 21 is a shop.",
        "Plaza 5 is nice.",
        "The Plaza 66 mall is in Shanghai.",
        "Largo 3 movement",
        "Im 5 minutes late",
        "Am 5 Mai gehen wir ins Kino.",
        "Am 17. Mai 2024 um 12:30.",
        "Im Jahr 2024 war alles anders.",
        "Zum 50 Geburtstag kam Oma.",
        "Im Sommer 2023 waren wir in Wien.",
        "Am Montag 12 Uhr.",
        "In der Klasse 5 sind 20 Kinder.",
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
    ],
)
def test_what_only_looks_like_an_address_stays(text):
    assert REDACTOR.redact(text) == text
