// ManagedObjectContext+Selections: fetching tuples of values.
public import ObjectQuery

extension ManagedObjectContext {
  /// The rows of a typed selection. Selections are made by stores and show saved values only.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``FetchSelectionError`` for a value that does not fit its type, ``StoreError`` from the store.
  public func fetch<FetchedClass, Row>(_ selection: FetchSelection<FetchedClass, Row>) throws -> [Row] {
    let results = try dictionaryResults(of: selection.specification)
    return try results.rows.map { row in try selection.row(of: results.columns.indices.map { try results.value(of: row, $0) }) }
  }

  /// How many rows a typed selection has.
  ///
  /// - Throws: ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func count<FetchedClass, Row>(for selection: FetchSelection<FetchedClass, Row>) throws -> Int {
    try countDictionaries(selection.specification)
  }
}
