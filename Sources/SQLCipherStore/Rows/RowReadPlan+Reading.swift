// RowReadPlan+Reading: reads the rows of statements into images.
import ObjectModel
import ObjectStore
import SQLCipherConnection

extension RowReadPlan {
  /// Reads the current row of a statement that selects `EntityTable.readColumns`.
  ///
  /// The type of a column is asked for only where its value is 0 or without an address: each question costs 10 ns.
  @inline(__always) func read(_ statement: Statement, into writer: RowWriter) throws {
    let key = statement.int64(0)
    guard RowKey.isKey(key) else { throw StoreError.strangeKey }
    writer.beginRow(entityNumber: entityNumber, slotCount: slotCount, key: key, version: statement.int64(1))
    if slotCount <= 64 { try readFew(statement, into: writer) } else { try readMany(statement, into: writer) }
  }

  /// The null bits of up to 64 slots are gathered in a register.
  @inline(__always) private func readFew(_ statement: Statement, into writer: RowWriter) throws {
    var nulls = UInt64.max
    for index in steps.indices {
      let step = steps[index]
      let column = step.column
      var word: Int64 = 0
      switch step.kind {
      case .int:
        word = statement.int64(column)
        if word == 0, statement.isNull(column) { continue }
      case .real:
        let value = statement.double(column)
        if value == 0, statement.isNull(column) { continue }
        word = Int64(bitPattern: value.bitPattern)
      case .text:
        let text = statement.textBuffer(column)
        if text.baseAddress == nil { continue }
        word = writer.appendBytes(text)
      case .bytes:
        let bytes = statement.blobBuffer(column)
        if bytes.baseAddress == nil, statement.isNull(column) { continue }
        word = writer.appendBytes(bytes)
      case .large:
        if let external = external(statement, step, writer) {
          word = writer.appendExternal(external)
          break
        }
        let bytes = statement.blobBuffer(column)
        if bytes.baseAddress == nil, statement.isNull(column) { continue }
        word = writer.appendBytes(bytes)
      case .fixedReference:
        let key = statement.int64(column)
        if key == 0 { continue }
        guard RowKey.isKey(key) else { throw StoreError.strangeKey }
        word = ObjectReference(entity: step.entity, key: key).rawValue
      case .storedReference:
        let key = statement.int64(column)
        if key == 0 { continue }
        guard RowKey.isKey(key) else { throw StoreError.strangeKey }
        word = ObjectReference(entity: try step.entity(statement.int(column + 1)), key: key).rawValue
      }
      writer.storeWord(word, at: step.slot)
      nulls &= ~(1 &<< UInt64(truncatingIfNeeded: step.slot))
    }
    if slotCount > 0 { writer.storeNulls(nulls) }
  }

  /// The value outside the row that a number stands for; nil where the column holds the bytes, or nothing.
  private func external(_ statement: Statement, _ step: Step, _ writer: RowWriter) -> ExternalData? {
    guard statement.type(step.column) == .integer else { return nil }
    // Never bytes that look like a value.
    guard let externals = writer.externals as? ExternalStorage else { return ExternalData(content: UnknownExternal()) }
    let object = ObjectReference(entity: entityNumber, key: statement.int64(0))
    return externals.value(statement.int64(step.column), at: .init(object: object, slot: step.slot))
  }

  private func readMany(_ statement: Statement, into writer: RowWriter) throws {
    for step in steps {
      let column = step.column
      switch step.kind {
      case .int:
        let value = statement.int64(column)
        if value != 0 || !statement.isNull(column) { writer.setInt(value, at: step.slot) }
      case .real:
        let value = statement.double(column)
        if value != 0 || !statement.isNull(column) { writer.setReal(value, at: step.slot) }
      case .text:
        let text = statement.textBuffer(column)
        if text.baseAddress != nil { writer.setBytes(text, at: step.slot) }
      case .bytes:
        let bytes = statement.blobBuffer(column)
        if bytes.baseAddress != nil || !statement.isNull(column) { writer.setBytes(bytes, at: step.slot) }
      case .large:
        if let external = external(statement, step, writer) {
          writer.setExternal(external, at: step.slot)
          continue
        }
        let bytes = statement.blobBuffer(column)
        if bytes.baseAddress != nil || !statement.isNull(column) { writer.setBytes(bytes, at: step.slot) }
      case .fixedReference:
        let key = statement.int64(column)
        if key == 0 { continue }
        guard RowKey.isKey(key) else { throw StoreError.strangeKey }
        writer.setReference(ObjectReference(entity: step.entity, key: key), at: step.slot)
      case .storedReference:
        let key = statement.int64(column)
        if key == 0 { continue }
        guard RowKey.isKey(key) else { throw StoreError.strangeKey }
        writer.setReference(ObjectReference(entity: try step.entity(statement.int(column + 1)), key: key), at: step.slot)
      }
    }
  }
}

extension EntityTable {
  /// Reads the current row of a statement that selects `readColumns`, whatever its entity.
  @inline(__always) func readRow(_ statement: Statement, into writer: RowWriter) throws {
    if entity == nil { return try readPlans[0].read(statement, into: writer) }
    let position = statement.int(2) &+ entityOffset &- root.number
    guard position >= 0, position < readPlans.count else {
      throw StoreError(.strangeEntityOfRow(table: plainName), operation: .read)
    }
    try readPlans[position].read(statement, into: writer)
  }
}
