//! Conditions as trees of operators.

/// An operator that takes two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// Bitwise and, `&`.
    BitAnd,
    /// Bitwise or, `|`.
    BitOr,
    /// Bitwise exclusive or, `^`.
    BitXor,
    /// Equal, `==`.
    Eq,
    /// Not equal, `!=`.
    Ne,
    /// Less, `<`.
    Lt,
    /// Less or equal, `<=`.
    Le,
    /// Greater, `>`.
    Gt,
    /// Greater or equal, `>=`.
    Ge,
    /// Both hold, `and`.
    And,
    /// At least one holds, `or`.
    Or,
}

impl Binary {
    /// All operators, in code order.
    pub const ALL: [Binary; 11] = [
        Binary::BitAnd,
        Binary::BitOr,
        Binary::BitXor,
        Binary::Eq,
        Binary::Ne,
        Binary::Lt,
        Binary::Le,
        Binary::Gt,
        Binary::Ge,
        Binary::And,
        Binary::Or,
    ];

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Binary::BitAnd => "&",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::And => "and",
            Binary::Or => "or",
        }
    }

    pub(super) fn takes_integers(self) -> bool {
        !matches!(self, Binary::And | Binary::Or)
    }

    pub(super) fn gives_integer(self) -> bool {
        matches!(self, Binary::BitAnd | Binary::BitOr | Binary::BitXor)
    }

    pub(super) fn apply(self, left: i64, right: i64) -> i64 {
        match self {
            Binary::BitAnd => left & right,
            Binary::BitOr => left | right,
            Binary::BitXor => left ^ right,
            Binary::Eq => i64::from(left == right),
            Binary::Ne => i64::from(left != right),
            Binary::Lt => i64::from(left < right),
            Binary::Le => i64::from(left <= right),
            Binary::Gt => i64::from(left > right),
            Binary::Ge => i64::from(left >= right),
            Binary::And => i64::from(left != 0 && right != 0),
            Binary::Or => i64::from(left != 0 || right != 0),
        }
    }
}

/// The tree of a condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expr {
    /// A field of the payload.
    Field(String),
    /// An integer literal.
    Const(i64),
    /// Logical negation.
    Not(Box<Expr>),
    /// An operator with two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
}
