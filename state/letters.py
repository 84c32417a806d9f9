"""Letters that tell a language."""

VIETNAMESE = "ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"
"""Small letters that no other Latin alphabet in wide use has."""
