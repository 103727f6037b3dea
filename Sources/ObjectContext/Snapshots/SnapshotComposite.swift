import ObjectModel

/// A generated struct of a composite attribute that typed snapshots can read and write, as objects do.
public protocol SnapshotComposite: CompositeValue {
  /// Reads the parts.
  ///
  /// - Parameters:
  ///   - object: The snapshot.
  ///   - slot: The slot of the first part.
  init(of object: ObjectSnapshot, at slot: Int)
  /// Writes the parts that differ from the snapshot's, so that only those count as changed.
  ///
  /// - Parameters:
  ///   - object: The snapshot.
  ///   - slot: The slot of the first part.
  func write(to object: inout ObjectSnapshot, at slot: Int)
}
