"""One planter and one search of "nothing raw at rest", for all suites.

`planter` makes the values that are put into messages, states, runs and requests, and knows them again in any form;
`places` reads what a product may have left: rows, files, keys of Redis, logs; `search` brings the two together and says
which plants are where, by their names alone. `values` and `sentences` have the kinds of values that a scan tells apart.
"""
