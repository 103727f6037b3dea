// DictionaryResults: the rows of a fetch of dictionaries, and their values in Swift.
package import ObjectModel
package import ObjectStore

/// The rows of a fetch of dictionaries, whichever stores they come from.
package struct DictionaryResults {
  /// A row: one value a column.
  package struct Row {
    /// The number of the store's ID space.
    package let space: UInt32
    /// The values; a missing one is null.
    package let values: [Slot]
  }
  /// The columns.
  package let columns: [DictionaryRows.Column]
  /// The rows.
  package let rows: [Row]
  /// The entity asked.
  package let entity: CompiledEntity
  private let model: CompiledModel
  /// What the values of each column are read as; nil for objects and entities.
  private let attributes: [AttributeDescription?]

  package init(columns: [DictionaryRows.Column], rows: [Row], entity: CompiledEntity, model: CompiledModel) {
    self.columns = columns
    self.rows = rows
    self.entity = entity
    self.model = model
    attributes = columns.map { column in
      switch column.content {
      case .attribute(let attribute): attribute
      case .value(let type): AttributeDescription(name: column.name, type: type)
      case .object, .entity: nil
      }
    }
  }

  /// A value in its Swift type; nil when there is none.
  package func value(of row: Row, _ column: Int) throws -> (any Sendable)? {
    let value = row.values[column]
    if value.isNull { return nil }
    if let attribute = attributes[column] {
      // A sum that 64 bits do not hold.
      if case .real(let number) = value, attribute.type.slotKind == .int { return number }
      return try ManagedObject.swiftValue(value, attribute, entityName: entity.name)
    }
    switch columns[column].content {
    case .attribute, .value: return nil
    case .object:
      guard case .int(let word) = value else { return nil }
      let reference = ObjectReference(rawValue: word)
      return ManagedObjectID(space: row.space, entityNumber: UInt32(reference.entity), key: reference.key)
    case .entity:
      guard case .int(let number) = value, model.entities.indices.contains(Int(number)) else { return nil }
      return model.entities[Int(number)].name
    }
  }

  /// A row as a dictionary, without the values that are missing.
  package func dictionary(of row: Row) throws -> [String: Any] {
    var dictionary: [String: Any] = [:]
    for (index, column) in columns.enumerated() {
      guard let value = try value(of: row, index) else { continue }
      dictionary[column.name] = attributes[index].map { AttributeConversion.untyped(value, of: $0.type) } ?? value
    }
    return dictionary
  }
}
