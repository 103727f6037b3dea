extension IdentityTable {
  /// Returns the key from an input object's attributes. Constraints with relationships are ignored.
  package func attributeKey(of object: ImportObject) -> IdentityKey? {
    for constraint in constraints(of: object.entity) where !constraint.hasRelationships {
      if let key = IdentityKey(constraint, value: object.value) { return key }
    }
    return nil
  }
}
