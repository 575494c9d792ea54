//! Fuzz target of branch conditions: any text is read as a condition, or refused with a position
//! inside the text. A condition that is printed and read again is the same. The compiled condition
//! has the same value as the condition's tree of operators.

use accelflow_trace::{Condition, Field, PredicateTable};

/// Parses a text as the condition of a branch, and evaluates the condition on four values of
/// payload fields. Panics unless
///
/// * a refusal states a position inside the text;
/// * a condition is the same after printing and parsing;
/// * the compiled condition has the same value as the condition's tree of operators.
pub fn check(input: (&str, [i64; 4])) {
    let (text, values) = input;
    let condition = match Condition::parse(text) {
        Ok(condition) => condition,
        Err(error) => {
            assert!(error.at <= error.text.chars().count());
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    // Not `parse`: a printed condition may be longer than the limit for authors.
    let again = Condition::from_expr(condition.expr().clone());
    assert_eq!(again.as_ref(), Ok(&condition));
    let mut table = PredicateTable::default();
    let nibble = table.intern(&condition).expect("one condition fits");
    assert_eq!(table.condition(nibble).as_ref(), Some(&condition));
    // Every fifth field is missing, so that missing facts are tested, too.
    let facts = |field: Field<'_>| values.get(field.name.len() % 5).copied();
    let tree = condition.holds(&facts);
    let predicate = table.get(nibble).expect("just added");
    let compiled = predicate.holds(table.fields(), &facts);
    assert_eq!(
        tree,
        compiled.map_err(|index| table.fields()[index].clone())
    );
}
