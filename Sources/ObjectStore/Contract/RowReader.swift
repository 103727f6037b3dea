// RowReader: reads rows one at a time for one caller.
package import ObjectModel

/// Reads rows of one store one at a time, for one caller, who keeps it: what a read needs is at hand from the one before.
package protocol RowReader: AnyObject {
  /// The row of an object as it was last saved, or not long ago by another process; nil when it is gone.
  func row(_ reference: ObjectReference) throws -> RowImage?

  /// The next row is read from the store as it is then.
  func renew()
}

/// A store that has something better for single rows than ``IncrementalStore/newValuesForObjects(with:in:)``.
package protocol SingleRowStore: IncrementalStore {
  /// - Parameter generation: The state that is read; nil for the newest.
  func makeRowReader(of generation: (any StoreGeneration)?) throws -> any RowReader
}
