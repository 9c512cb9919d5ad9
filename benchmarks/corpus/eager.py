"""The programs of the corpus that do not compile whole yet, and why.

A text is the codes of the report's fallbacks, or else the functions that the compiled program calls
through NumPy. What is not here compiles whole.
"""

EAGER = {
    "GaussianNB.fit": "TJ017",
    "DecisionTree.fit": "TJ032",
    "MultinomialNB.fit": "TJ018",
    "MovingAverageFilter.update": "TJ006",
    "MovingAverageFilter.smooth": "TJ006",
    "Flock.step": "TJ022",
    "nelder_mead": "TJ001 TJ017",
    "Swarm.optimize": "TJ005",
    "genetic_algorithm": "TJ001 TJ032",
    "longest_common_subsequence": "TJ022",
    "histogram_equalization": "TJ002",
    "douglas_peucker": "TJ032",
    "a_star": "TJ032",
    "encode_varints": "TJ002",
    "parse_packets": "TJ022",
    "merge_intervals": "TJ022",
    "parse_wav_header": "TJ002",
    "factorial": "TJ010",
    "QuadTree.insert": "TJ020",
    "dice_poker_scores": "TJ002",
    "GridWorld.step": "TJ006",
    "BinarySearchTree.insert": "TJ003",
    "LRUCache.get": "TJ008",
    "LRUCache.put": "TJ027",
    "Ledger.post": "TJ002",
    "Inventory.remove": "TJ027",
    "MovingWindow.add": "TJ006",
    "Timer.measure": "TJ002",
    "Snake.step": "TJ034",
}
