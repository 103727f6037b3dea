import ObjectModel
import ObjectStore
import SQLCipherConnection

extension RowReadPlan {
  /// Reads the current row of a statement that selects `EntityTable.readColumns`.
  ///
  /// If a value has a storage class that does not fit its attribute, for example after a direct SQL change, its slot becomes unreadable,
  /// and the row is read.
  @inline(__always) func read(_ statement: Statement, into writer: RowWriter) throws {
    try read(statement.columnValues, into: writer)
  }

  /// Adds the cached row with the key and version of the current row, if there is one and equal versions imply equal rows.
  ///
  /// - Returns: Whether a cached row was added.
  @inline(__always) func take(_ values: ColumnValues, from known: ReusableRows, into writer: RowWriter) -> Bool {
    known.add(values[0].int64, version: values[1].int64, ofEntity: entityNumber, root: root, largeSlots: largeSlots, to: writer)
  }

  @inline(__always) fileprivate func read(_ values: ColumnValues, into writer: RowWriter) throws {
    let key = values[0].int64
    guard RowKey.isKey(key) else { throw StoreError.invalidKey }
    writer.beginRow(entityNumber: entityNumber, slotCount: slotCount, key: key, version: values[1].int64)
    if slotCount <= 64 { try readFew(values, into: writer) } else { try readMany(values, into: writer) }
  }

  /// Collects the null bits of up to 64 slots in a register.
  @inline(__always) private func readFew(_ values: ColumnValues, into writer: RowWriter) throws {
    var nulls = UInt64.max
    try steps.withUnsafeBufferPointer { steps in
      for step in steps {
        guard let word = try word(step, values, writer) else { continue }
        writer.storeWord(word, at: step.slot)
        nulls &= ~(1 &<< UInt64(truncatingIfNeeded: step.slot))
      }
    }
    if slotCount > 0 { writer.storeNulls(nulls) }
  }

  private func readMany(_ values: ColumnValues, into writer: RowWriter) throws {
    for step in steps {
      if let word = try word(step, values, writer) { writer.setWord(word, at: step.slot) }
    }
  }

  /// Returns the word of a step's slot, or `nil` if there is no value or it is unreadable.
  @inline(__always) private func word(_ step: Step, _ values: ColumnValues, _ writer: RowWriter) throws -> Int64? {
    let value = values[step.column]
    switch step.kind {
    case .int: if value.isInteger { return value.int64 }
    case .real:
      // SQL may have stored a whole number as an integer.
      if value.isReal || value.isInteger { return Int64(bitPattern: value.double.bitPattern) }
    case .text:
      if value.isText {
        let text = value.textBuffer
        guard text.baseAddress != nil else { throw StoreError(.noMemoryForText, operation: .read) }
        return writer.appendBytes(text)
      }
    case .bytes: if value.isBlob { return writer.appendBytes(value.blobBuffer) }
    case .large:
      if value.isInteger { return writer.appendExternal(external(value.int64, values, step, writer)) }
      if value.isBlob { return writer.appendBytes(value.blobBuffer) }
    case .fixedReference:
      if let key = try destination(value) { return ObjectReference(entity: step.entity, key: key).rawValue }
      return nil
    case .storedReference:
      guard let key = try destination(value) else { return nil }
      return ObjectReference(entity: try step.entity(Int(values[step.column + 1].int64)), key: key).rawValue
    }
    if !value.isNull { writer.markUnreadable(step.slot) }
    return nil
  }

  @inline(__always) private func destination(_ value: ColumnValue) throws -> Int64? {
    guard value.isInteger else {
      if value.isNull { return nil }
      throw StoreError.invalidKey
    }
    let key = value.int64
    if key == 0 { return nil }
    guard RowKey.isKey(key) else { throw StoreError.invalidKey }
    return key
  }

  /// Returns the value in a file with a number.
  // Not inlined: the exclusivity check for the writer's storage would otherwise run for each row.
  @inline(never) private func external(_ number: Int64, _ values: ColumnValues, _ step: Step, _ writer: RowWriter) -> ExternalData {
    // Without storage, reading the value throws: the number must not be taken for the value.
    guard let externals = writer.externals as? ExternalStorage else { return ExternalData(content: UnlistedLargeValue()) }
    let object = ObjectReference(entity: entityNumber, key: values[0].int64)
    return externals.value(number, at: .init(object: object, slot: step.slot))
  }
}

extension EntityTable {
  /// Reads the current row of a statement that selects `readColumns`, with the plan of the row's entity.
  @inline(__always) func readRow(_ statement: Statement, into writer: RowWriter) throws {
    if entity == nil { return try readPlans[0].read(statement, into: writer) }
    let values = statement.columnValues
    try readPlan(values).read(values, into: writer)
  }

  /// Returns the object of the current row of a statement that selects `readColumns`.
  func reference(of statement: Statement) throws -> ObjectReference {
    let values = statement.columnValues
    let entity = entity == nil ? readPlans[0].entityNumber : try readPlan(values).entityNumber
    guard RowKey.isKey(values[0].int64) else { throw StoreError.invalidKey }
    return ObjectReference(entity: entity, key: values[0].int64)
  }

  /// Adds the cached row with the key and version of the current row, with the plan of the row's entity.
  ///
  /// - Returns: Whether a cached row was added.
  func takeRow(_ statement: Statement, from known: ReusableRows, into writer: RowWriter) throws -> Bool {
    let values = statement.columnValues
    let plan = try readPlan(values)
    return plan.versionIdentifiesContent && plan.take(values, from: known, into: writer)
  }

  @inline(__always) private func readPlan(_ values: ColumnValues) throws -> RowReadPlan {
    let position = Int(values[2].int64) &+ entityOffset &- root.number
    guard position >= 0, position < readPlans.count else {
      throw StoreError(.unknownEntityOfRow(table: plainName), operation: .read)
    }
    return readPlans[position]
  }
}
