package import ObjectModel

/// A store that finds objects by their values under a uniqueness constraint.
package protocol UniqueValueStore: IncrementalStore {
  /// Returns the objects that have some values.
  ///
  /// - Parameters:
  ///   - values: The values of the constraint's properties, none of which is null. Of a relationship, it is the key of the destination.
  ///   - constraint: The constraint, as its entity declares it.
  /// - Returns: The objects, with the positions of their values.
  /// - Throws: ``StoreError`` if the store is closed or cannot be read.
  func holders(of values: [[Slot]], under constraint: DeclaredConstraint) throws -> [(position: Int, object: ObjectReference)]
}
