// SQLCipherIncrementalStore+SingleRows: what reads single rows for a context, and what finds very many.
package import ObjectQuery
package import ObjectStore

extension SQLCipherIncrementalStore: SingleRowStore {
  package func makeRowReader(of generation: (any StoreGeneration)?) throws -> any RowReader {
    let engine = try engine(.read)
    return try generation.map { GenerationRowReader(engine, of: try engine.own($0)) } ?? StoreRowReader(engine)
  }
}

extension SQLCipherIncrementalStore: KeyListingStore {
  package func foundObjects(_ specification: FetchSpecification, in scope: RequestScope) throws -> FoundObjects {
    let engine = try engine(.fetch)
    return try StoreError.mapping { try engine.foundObjects(specification, in: scope) }
  }
}
