//! Values that are written in statements.

/// The type of a value. No expression mixes two without saying so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ValueType {
    /// Whole numbers of 64 bits.
    Integer,
    /// Numbers with two digits after the point, always whole quarters: a server that keeps them as binary floats can add
    /// them in any order.
    Decimal,
    /// Lower-case letters and digits.
    Text,
    /// Days.
    Date,
    /// True or false.
    Boolean,
}

impl ValueType {
    /// All of them.
    pub const ALL: [ValueType; 5] = [
        ValueType::Integer,
        ValueType::Decimal,
        ValueType::Text,
        ValueType::Date,
        ValueType::Boolean,
    ];
}

/// A value. Those of one type are in the order in which servers have them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Literal {
    /// NULL, of a type.
    Null(ValueType),
    /// A whole number.
    Integer(i64),
    /// So many quarters.
    Quarters(i64),
    /// Characters that need no escape.
    Text(String),
    /// A day of 2024, counted from its first, which is 0. There are twelve times 28.
    Day(u16),
    /// True or false.
    Boolean(bool),
}

impl Literal {
    /// The type of the value.
    pub fn value_type(&self) -> ValueType {
        match self {
            Literal::Null(of) => *of,
            Literal::Integer(_) => ValueType::Integer,
            Literal::Quarters(_) => ValueType::Decimal,
            Literal::Text(_) => ValueType::Text,
            Literal::Day(_) => ValueType::Date,
            Literal::Boolean(_) => ValueType::Boolean,
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Literal::Null(_))
    }
}
