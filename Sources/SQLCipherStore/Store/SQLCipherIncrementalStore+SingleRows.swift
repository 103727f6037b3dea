package import ObjectQuery
package import ObjectStore

extension SQLCipherIncrementalStore: SingleRowStore {
  package func makeRowReader(of generation: (any StoreGeneration)?) throws -> any RowReader {
    let engine = try engine(.read)
    return StoreRowReader(engine, of: try generation.map(engine.own))
  }
}

extension SQLCipherIncrementalStore: KeyListingStore {
  package func fetchedIDs(_ specification: FetchSpecification, in scope: RequestScope) throws -> FetchedIDs {
    let engine = try engine(.fetch)
    return try StoreError.mapping { try engine.fetchedIDs(specification, in: scope) }
  }
}
