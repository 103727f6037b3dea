package import ObjectModel

/// Reads individual rows of one store for one caller, which keeps the reader so that resources of one read are reused by the next.
package protocol RowReader: AnyObject {
  /// Returns the last saved row of an object, or nil if it was deleted. Commits of other processes may appear with a short delay.
  func row(_ reference: ObjectReference) throws -> RowImage?

  /// Makes the next read see the current state of the store.
  func renew()
}

/// A store that reads individual rows more efficiently than ``IncrementalStore/newValuesForObjects(with:in:)``.
package protocol SingleRowStore: IncrementalStore {
  /// Returns a reader for one caller.
  ///
  /// - Parameter generation: The generation to read, or nil for the newest state.
  func makeRowReader(of generation: (any StoreGeneration)?) throws -> any RowReader
}
