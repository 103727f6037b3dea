import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The SQL functions that batch requests call. One of them converts computed values to attribute values by the same rules as in memory.
enum BatchFunctions {
  private static let rejection = "cd_assign refuses a value"

  static func register(on connection: Connection, model: CompiledModel) throws {
    try ChosenRows.register(on: connection)
    try ParkedValue.register(on: connection)
    try connection.registerFunction(name: SQLFunctions.assign, argumentCount: 3) { call in
      let (number, index) = (Int(call.int64(0)), Int(call.int64(1)))
      guard model.entities.indices.contains(number), model.entities[number].slots.indices.contains(index) else {
        return call.setFailure(.rejection, rejection)
      }
      let entity = model.entities[number]
      do throws(BatchError) {
        SQLFunctions.set(try BatchUpdatePlan.assigned(SQLFunctions.slot(call, 2), to: entity.slots[index], of: entity), call)
      } catch {
        call.setFailure(.rejection, rejection)
      }
    }
  }

  /// Returns whether a statement failed because the function rejected a value.
  static func isRejection(_ error: StoreAccessError) -> Bool { error.extendedCode == FunctionFailure.rejection.rawValue }
}

/// The SQL functions that park values, see ``SQLFunctions/park``.
enum ParkedValue {
  /// The start of parked values. No attribute has a value of this kind in a column of another kind.
  private static let prefix = Data("parked by CipherData\u{0}".utf8)

  static func register(on connection: Connection) throws {
    try connection.registerFunction(name: SQLFunctions.park, argumentCount: 1) { call in
      SQLFunctions.set(parked(SQLFunctions.slot(call, 0)), call)
    }
    try connection.registerFunction(name: SQLFunctions.unpark, argumentCount: 1) { call in
      SQLFunctions.set(unparked(SQLFunctions.slot(call, 0)), call)
    }
  }

  private enum Kind: UInt8 {
    case int, real, text, bytes
  }

  /// Returns a value that differs from all others: bytes, or a text in place of bytes.
  static func parked(_ value: Slot) -> Slot {
    func bytes(_ kind: Kind, _ content: some Sequence<UInt8>) -> Data { prefix + [kind.rawValue] + content }
    func bytes(_ kind: Kind, _ number: UInt64) -> Data { bytes(kind, withUnsafeBytes(of: number.littleEndian) { Array($0) }) }
    switch value {
    case .null: return .null
    case .int(let number): return .bytes(bytes(.int, UInt64(bitPattern: number)))
    case .real(let number): return .bytes(bytes(.real, number.bitPattern))
    case .text(let text): return .bytes(bytes(.text, text.utf8))
    case .bytes(let data): return .text(bytes(.bytes, data).base64EncodedString())
    }
  }

  /// Returns the value that was parked, or the value itself if it was not.
  static func unparked(_ value: Slot) -> Slot {
    switch value {
    case .null, .int, .real: return value
    case .text(let text): return Data(base64Encoded: text).flatMap(content) ?? value
    case .bytes(let data): return content(of: data) ?? value
    }
  }

  private static func content(of data: Data) -> Slot? {
    guard data.starts(with: prefix), let kind = data.dropFirst(prefix.count).first.flatMap(Kind.init) else { return nil }
    let content = Data(data.dropFirst(prefix.count + 1))
    var number: UInt64? {
      content.count == 8 ? content.reversed().reduce(0) { $0 << 8 | UInt64($1) } : nil
    }
    switch kind {
    case .int: return number.map { .int(Int64(bitPattern: $0)) }
    case .real: return number.map { .real(Double(bitPattern: $0)) }
    case .text: return .text(String(decoding: content, as: UTF8.self))
    case .bytes: return .bytes(content)
    }
  }
}
