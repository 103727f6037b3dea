import Foundation
package import ObjectModel

/// A request to insert many rows without instantiating objects.
///
/// ```swift
/// var request = BatchInsertRequest(entityName: "Book", objects: rows, onConflict: .update())
/// let result = try context.execute(request)
/// ```
///
/// A row contains values by the names of attributes and to-one relationships; the values of relationships are the ``ManagedObjectID``s of
/// saved objects. Properties that a row omits get their default values. Values are converted and validated as in a save, but methods of
/// managed objects are not called. Either all rows take effect or none.
public struct BatchInsertRequest {
  /// Fills one row. Returns false if there are no more rows.
  package typealias Source = (BatchRowBuilder) throws -> Bool

  /// The name of the entity, or nil if the class of the objects determines it.
  public let entityName: String?
  /// The handling of rows whose unique values are taken.
  public var onConflict: BatchConflictPolicy
  /// The kind of result to return.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the candidate stores, or nil for all. Rows are inserted into the first one that contains the entity.
  public var affectedStores: [String]?
  /// Whether the coordinator notifies observers of the changes, as after a save.
  public var publishesChanges = true
  /// Whether the executing context merges the changes before the call returns.
  public var mergesChanges = true
  /// The class of the objects that fill the rows.
  package var objectType: AnyObject.Type?
  /// Returns a source that starts with the first row. Called for each execution of the request.
  package let makeSource: () -> Source

  /// Creates a request to insert rows given as dictionaries.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - objects: The rows, as values by property name. `nil` and `NSNull` represent null.
  ///   - onConflict: The handling of rows whose unique values are taken.
  public init(entityName: String, objects: [[String: Any]], onConflict: BatchConflictPolicy = .error) {
    self.init(entityName: entityName, onConflict: onConflict) {
      var rest = objects[...]
      return { builder in
        guard let row = rest.popFirst() else { return false }
        try builder.set(row)
        return true
      }
    }
  }

  /// Creates a request to insert rows that a closure fills one at a time, so that they need not be in memory together.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - onConflict: The handling of rows whose unique values are taken.
  ///   - dictionaryHandler: Fills an empty dictionary with the values of a row and returns false. Returns true if there are no more rows;
  ///     that call adds no row.
  public init(
    entityName: String, onConflict: BatchConflictPolicy = .error, dictionaryHandler: @escaping (inout [String: Any]) throws -> Bool
  ) {
    self.init(entityName: entityName, onConflict: onConflict) {
      { builder in
        var row: [String: Any] = [:]
        if try dictionaryHandler(&row) { return false }
        try builder.set(row)
        return true
      }
    }
  }

  package init(entityName: String?, onConflict: BatchConflictPolicy, makeSource: @escaping () -> Source) {
    self.entityName = entityName
    self.onConflict = onConflict
    self.makeSource = makeSource
  }
}

/// Converts and validates the values of a batch insert, row by row, and packs the rows into chunks.
package final class BatchRowBuilder {
  package let entity: CompiledEntity
  package let space: ObjectIDSpace
  private let model: CompiledModel
  private var values: [Slot]
  private var given = SlotMask()
  private var writer = RowWriter()
  private var masks: [SlotMask] = []
  private var rowNumber = 0
  private var byteCount = 0

  init(entity: CompiledEntity, model: CompiledModel, space: ObjectIDSpace) {
    self.entity = entity
    self.model = model
    self.space = space
    values = entity.slots.map(\.defaultValue)
  }

  // MARK: Values

  /// Sets values of the current row by property name.
  package func set<Value>(_ dictionary: [String: Value]) throws {
    for (key, value) in dictionary { try set(value, forKey: key) }
  }

  private func set(_ value: Any, forKey key: String) throws {
    let value = value is NSNull ? nil : AttributeConversion.unwrapped(value)
    switch entity.property(named: key) {
    case .attribute(let slot):
      guard slot.kind != .none else { throw failure(.notSettable, key, "is transient and not stored. Leave it out.") }
      // As for objects, the given value is ignored and the store computes it.
      if slot.isDerived { return }
      set(try convert { () throws(BatchValue.Failure) in try BatchValue.slot(from: value, for: slot) }, at: slot.index)
    case .toOne(let relationship):
      set(
        try convert { () throws(BatchValue.Failure) in try BatchValue.reference(from: value, for: relationship, model: model, space: space)
        }, at: relationship.index)
    case .toMany(let relationship): try reject(relationship)
    case .composite(let composite): try set(parts: value, of: composite)
    case .fetched: throw failure(.notSettable, key, "is a fetched property, which is not stored. Leave it out.")
    case nil:
      throw failure(
        .unknownKey, key,
        "is not a property of the entity" + (SimilarName.advice(for: key, among: entity.propertyNames).map { ": \($0)" } ?? "."))
    }
  }

  /// Sets all attributes of a composite. Those missing from the dictionary are set to null, or to their default values if they are
  /// required.
  private func set(parts value: Any?, of composite: CompiledComposite) throws {
    for slot in composite.slots { set(.null, at: slot) }
    guard let value else { return }
    guard let parts = value as? [String: Any?] else {
      throw failure(.wrongType, composite.name, "is a composite: set it to a dictionary of its elements.")
    }
    for (name, part) in parts { try set(part as Any, forKey: "\(composite.name).\(name)") }
    var set = Dictionary(uniqueKeysWithValues: composite.slots.map { ($0, values[$0]) })
    composite.addDefaults(to: &set, given: parts.keys, of: entity)
    for (slot, value) in set { values[slot] = value }
  }

  /// Throws the error for a to-many relationship.
  package func reject(_ relationship: CompiledRelationship) throws {
    throw failure(
      .notSettable, relationship.name,
      "is a to-many relationship, which a batch insertion cannot fill. Give the to-one relationship back in the other rows, or save objects."
    )
  }

  /// Validates a value of the slot's kind and sets it.
  package func set(checking value: Slot, at index: Int) throws {
    let slot = entity.slots[index]
    if slot.isDerived { return }
    let checked = try convert { () throws(BatchValue.Failure) in
      guard let relationship = slot.relationship else { return try BatchValue.checked(value, for: slot) }
      var objectID: ManagedObjectID?
      if case .int(let word) = value {
        let reference = ObjectReference(rawValue: word)
        objectID = space.objectID(of: reference)
      }
      return try BatchValue.reference(from: objectID, for: relationship, model: model, space: space)
    }
    set(checked, at: index)
  }

  private func set(_ value: Slot, at index: Int) {
    values[index] = value
    given.insert(index)
  }

  private func convert(_ body: () throws(BatchValue.Failure) -> Slot) throws -> Slot {
    do { return try body() } catch { throw error.error(entity.name, row: rowNumber) }
  }

  private func failure(_ code: BatchError.Code, _ key: String, _ reason: String) -> BatchError {
    BatchError(code, entityName: entity.name, key: key, row: rowNumber, reason: reason)
  }

  // MARK: Rows

  var count: Int { masks.count }
  /// Whether the current chunk has reached its maximum size: 5,000 rows or 4 MiB.
  var isFull: Bool { masks.count >= Self.chunkRowLimit || byteCount >= Self.chunkByteLimit }
  private static var chunkRowLimit: Int { 5_000 }
  private static var chunkByteLimit: Int { 4 << 20 }

  /// Ends the row. Its key is assigned when it is written.
  func endRow() {
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: 0, version: RowImage.firstVersion)
    for slot in entity.slots where slot.kind != .none { writer.set(values[slot.index], at: slot.index) }
    byteCount += writer.endRow().size
    masks.append(given)
    for slot in entity.slots where given.contains(slot.index) { values[slot.index] = slot.defaultValue }
    given = SlotMask()
    rowNumber += 1
  }

  /// Returns the current chunk and starts a new one.
  func takeChunk(onConflict: BatchConflictPolicy) -> BatchInsertion {
    defer {
      writer = RowWriter()
      masks = []
      byteCount = 0
    }
    return BatchInsertion(
      entityName: entity.name, rows: writer.finish(), given: masks, firstRow: rowNumber - masks.count, onConflict: onConflict)
  }
}
