// WriteTransaction+Files: the files of large values that a write transaction adds and lets go of.

extension WriteTransaction {
  /// What becomes of the files of large values; nil where the store has none.
  var files: ExternalTransaction? { kept() }
}
