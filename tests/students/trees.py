"""Binary search trees."""

from tests.students.program import Family, decimals, numbers

PROGRAMS = Family()


class TreeNode:
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None


def insert(root, key):
    if root is None:
        return TreeNode(key)
    if key < root.key:
        root.left = insert(root.left, key)
    else:
        root.right = insert(root.right, key)
    return root


def inorder(root):
    if root is None:
        return []
    return inorder(root.left) + [root.key] + inorder(root.right)


def plant(keys):
    root = None
    for key in keys:
        root = insert(root, key)
    return root


def tree_sort(keys):
    root = None
    for key in keys:
        root = insert(root, key)
    return inorder(root)


PROGRAMS.add(tree_sort, (numbers(25),), ([],), ([2, 2, 1],), (decimals(40),))


def height(root):
    if root is None:
        return 0
    return 1 + max(height(root.left), height(root.right))


PROGRAMS.add(
    height, (plant(numbers(25)),), (None,), (plant([1, 2, 3, 4, 5]),), (plant(numbers(60, seed=2)),)
)


class BinarySearchTree:
    def __init__(self):
        self.root = None
        self.count = 0

    def insert(self, key):
        self.count += 1
        if self.root is None:
            self.root = TreeNode(key)
            return
        node = self.root
        while True:
            if key < node.key:
                if node.left is None:
                    node.left = TreeNode(key)
                    return
                node = node.left
            else:
                if node.right is None:
                    node.right = TreeNode(key)
                    return
                node = node.right

    def contains(self, key):
        node = self.root
        while node is not None and node.key != key:
            node = node.left if key < node.key else node.right
        return node is not None

    def minimum(self):
        if self.root is None:
            raise ValueError("the tree is empty")
        node = self.root
        while node.left:
            node = node.left
        return node.key


def grow_tree(keys, wanted):
    tree = BinarySearchTree()
    for key in keys:
        tree.insert(key)
    found = [key for key in wanted if tree.contains(key)]
    return tree, found, tree.minimum()


PROGRAMS.add(
    grow_tree, (numbers(25), [1, 2, 28]), ([5], [5, 5]), ([], [1]), (decimals(40), [0.25, 4.0])
)
