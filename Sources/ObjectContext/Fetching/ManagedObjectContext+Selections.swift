public import ObjectQuery

extension ManagedObjectContext {
  /// Returns the rows of a typed selection. The stores create the rows, so they contain saved values only.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid selection; ``FetchSelectionError`` for a value that does not fit its type;
  ///   ``StoreError`` from the store.
  public func fetch<FetchedClass, Row>(_ selection: FetchSelection<FetchedClass, Row>) throws -> [Row] {
    let results = try dictionaryResults(of: selection.specification)
    return try results.rows.map { row in try selection.row(of: results.columns.indices.map { try results.value(of: row, $0) }) }
  }

  /// Returns the number of rows of a typed selection.
  ///
  /// - Throws: ``FetchPredicateError`` for an invalid selection; ``StoreError`` from the store.
  public func count<FetchedClass, Row>(for selection: FetchSelection<FetchedClass, Row>) throws -> Int {
    try countDictionaries(selection.specification)
  }
}
