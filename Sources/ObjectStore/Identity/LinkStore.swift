package import ObjectModel

/// A store that gives access to single links of relationships whose links are not values of the members' rows: many-to-many relationships,
/// and to-many relationships without an inverse.
package protocol LinkStore: IncrementalStore {
  /// Returns whether each of some links exists, in their order.
  ///
  /// - Throws: ``StoreError`` if the store is closed or cannot be read.
  func contains(_ links: [LinkChanges.Link], of relationship: CompiledRelationship) throws -> [Bool]

  /// Returns links in the order of the keys of their sources and destinations. If the relationship is its own inverse, each link is returned
  /// in both directions.
  ///
  /// - Parameter link: The link before the first one to return, whose ends need not exist; nil to begin with the first one.
  /// - Throws: ``StoreError`` if the store is closed or cannot be read.
  func links(of relationship: CompiledRelationship, after link: LinkChanges.Link?, maximumCount: Int) throws -> [LinkChanges.Link]
}
