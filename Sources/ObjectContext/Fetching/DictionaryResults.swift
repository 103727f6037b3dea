package import ObjectModel
package import ObjectStore

/// The rows of a fetch with dictionary results, from one or more stores.
package struct DictionaryResults {
  /// A row with one value for each column.
  package struct Row {
    /// The number of the store's ID space.
    package let space: UInt32
    /// The values by column; null for a missing value.
    package let values: [Slot]
  }
  package let columns: [DictionaryRows.Column]
  package let rows: [Row]
  /// The fetched entity.
  package let entity: CompiledEntity
  private let model: CompiledModel
  /// The attributes that define how column values are decoded; nil for object and entity columns.
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

  /// Returns a value as its Swift type; nil if the value is missing.
  package func value(of row: Row, _ column: Int) throws -> (any Sendable)? {
    let value = row.values[column]
    if value.isNull { return nil }
    if let attribute = attributes[column] {
      // A sum that overflows 64 bits is a real number.
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

  /// Returns a row as a dictionary that omits missing values.
  package func dictionary(of row: Row) throws -> [String: Any] {
    var dictionary: [String: Any] = [:]
    for (index, column) in columns.enumerated() {
      guard let value = try value(of: row, index) else { continue }
      dictionary[column.name] = attributes[index].map { AttributeConversion.untyped(value, of: $0.type) } ?? value
    }
    return dictionary
  }
}
