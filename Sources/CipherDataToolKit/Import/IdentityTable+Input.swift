// IdentityTable+Input: which object of a store one of the input is.

extension IdentityTable {
  /// The key that the attributes of an object of the input make; constraints with relationships are left out.
  package func attributeKey(of object: ImportObject) -> IdentityKey? {
    for constraint in constraints(of: object.entity) where !constraint.hasRelationships {
      if let key = IdentityKey(constraint, value: object.value) { return key }
    }
    return nil
  }
}
