//! Branch conditions as trees of operators.

/// A binary operator of a branch condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// Bitwise and, `&`.
    BitAnd,
    /// Bitwise or, `|`.
    BitOr,
    /// Bitwise exclusive or, `^`.
    BitXor,
    /// Equality, `==`.
    Eq,
    /// Inequality, `!=`.
    Ne,
    /// Less than, `<`.
    Lt,
    /// Less than or equal, `<=`.
    Le,
    /// Greater than, `>`.
    Gt,
    /// Greater than or equal, `>=`.
    Ge,
    /// Logical and, `and`: both operands hold.
    And,
    /// Logical or, `or`: at least one operand holds.
    Or,
    /// Sum, `+`.
    Add,
    /// Difference, `-`.
    Sub,
    /// Shift to the left, `<<`, by the lowest six bits of the right operand.
    Shl,
    /// Shift to the right, `>>`, which keeps the sign, by the lowest six bits of the right operand.
    Shr,
}

impl Binary {
    /// All binary operators, in the order of the numbers by which a trace file refers to them.
    pub const ALL: [Binary; 15] = [
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
        Binary::Add,
        Binary::Sub,
        Binary::Shl,
        Binary::Shr,
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
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
        }
    }

    pub(super) fn takes_integers(self) -> bool {
        !matches!(self, Binary::And | Binary::Or)
    }

    pub(super) fn gives_integer(self) -> bool {
        use Binary::*;
        matches!(self, BitAnd | BitOr | BitXor | Add | Sub | Shl | Shr)
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
            Binary::Add => left.wrapping_add(right),
            Binary::Sub => left.wrapping_sub(right),
            // Like RISC-V's shifts, these use the lowest six bits of the count.
            Binary::Shl => left.wrapping_shl(right as u32),
            Binary::Shr => left.wrapping_shr(right as u32),
        }
    }
}

/// A branch condition, or a part of one, as a tree of operators and their operands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expr {
    /// The value of a payload field or of another [`Operand`](super::Operand). Holds the operand's
    /// `Display` text, such as `hit` or `out[4:6]`.
    Field(String),
    /// An integer literal.
    Const(i64),
    /// The logical negation of the operand.
    Not(Box<Expr>),
    /// A binary operator with its left and its right operand.
    Binary(Binary, Box<Expr>, Box<Expr>),
}
