package import ObjectModel

/// An object of a fixture.
package struct FixtureObject: Sendable {
  package var entity: String
  /// The primary key, unique in its entity hierarchy.
  package var key: Int64
  /// The values of attributes by name. Missing ones are nil.
  package var values: [String: Slot]
  /// The positions of related objects in the graph, by the names of to-one relationships.
  package var toOne: [String: Int]
  /// The positions of the members, by the names of to-many relationships. Both sides must be consistent.
  package var toMany: [String: [Int]]

  package init(
    _ entity: String, _ key: Int64, _ values: [String: Slot] = [:], toOne: [String: Int] = [:], toMany: [String: [Int]] = [:]
  ) {
    self.entity = entity
    self.key = key
    self.values = values
    self.toOne = toOne
    self.toMany = toMany
  }
}

/// Objects with values and references, to be written in the layout of another store.
package struct FixtureGraph: Sendable {
  package let model: CompiledModel
  package var objects: [FixtureObject]

  package init(_ model: CompiledModel, _ objects: [FixtureObject] = []) {
    self.model = model
    self.objects = objects
  }

  /// Returns the entity of an object.
  package func entity(of position: Int) throws -> CompiledEntity {
    guard let entity = model.entity(named: objects[position].entity) else {
      throw FixtureError(description: "the model has no entity \(objects[position].entity)")
    }
    return entity
  }

  /// The index of an object among the members of another one.
  func place(of member: Int, in owner: Int, _ relationship: String) -> Int? {
    objects[owner].toMany[relationship]?.firstIndex(of: member)
  }
}
