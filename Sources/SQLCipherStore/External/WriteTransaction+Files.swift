extension WriteTransaction {
  /// The files of large values that the transaction adds and drops, or `nil` if the store has no large values.
  var files: ExternalTransaction? { kept() }
}
