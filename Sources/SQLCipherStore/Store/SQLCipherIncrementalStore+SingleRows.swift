// SQLCipherIncrementalStore+SingleRows: what reads single rows for a context.
package import ObjectStore

extension SQLCipherIncrementalStore: SingleRowStore {
  package func makeRowReader() throws -> any RowReader { StoreRowReader(try engine(.read)) }
}
