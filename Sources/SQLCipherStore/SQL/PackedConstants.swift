import Foundation
import ObjectModel
import ObjectQuery
import SQLCipherConnection

/// All constants of a fetch in one blob, and the SQL function that extracts one of them.
///
/// Predicates with more constants than a statement can have placeholders use it. SQLite calls the function once per statement for each
/// constant, not once per row.
///
/// Layout: the number of constants and the end offset of each one, 4 bytes each; then the constants, each as a kind byte and the value.
enum PackedConstants {
  static let function = "cd_constant"

  private enum Kind: UInt8 {
    case null, int, real, text, bytes
  }

  /// Packs the constants of a fetch. A list is stored as the bytes of a `ValueList`.
  static func pack(_ constants: [ResolvedConstant], in space: ObjectIDSpace) -> Data {
    var ends = Data(capacity: (constants.count + 1) * 4)
    var values = Data()
    withUnsafeBytes(of: UInt32(constants.count)) { ends.append(contentsOf: $0) }
    for constant in constants {
      switch constant {
      case .slot(let slot): append(slot, to: &values)
      case .object(let id): append(.int(space.key(of: id)), to: &values)
      case .slots, .objects: append(.bytes(Data(constant.list(in: space).bytes)), to: &values)
      }
      withUnsafeBytes(of: UInt32(values.count)) { ends.append(contentsOf: $0) }
    }
    return ends + values
  }

  private static func append(_ slot: Slot, to data: inout Data) {
    switch slot {
    case .null: data.append(Kind.null.rawValue)
    case .int(let value):
      data.append(Kind.int.rawValue)
      withUnsafeBytes(of: value) { data.append(contentsOf: $0) }
    case .real(let value):
      data.append(Kind.real.rawValue)
      withUnsafeBytes(of: value) { data.append(contentsOf: $0) }
    case .text(let value):
      data.append(Kind.text.rawValue)
      data.append(contentsOf: value.utf8)
    case .bytes(let value):
      data.append(Kind.bytes.rawValue)
      data.append(value)
    }
  }

  static func register(on connection: Connection) throws {
    try connection.registerFunction(name: function, argumentCount: 2) { call in
      let packed = call.blob(0)
      guard let number = Int(exactly: call.int64(1)), let value = value(number, in: packed), let first = value.first,
        let kind = Kind(rawValue: first)
      else { return call.setResultNull() }
      let bytes = UnsafeRawBufferPointer(rebasing: value.dropFirst())
      switch kind {
      case .null: call.setResultNull()
      case .int, .real:
        guard bytes.count == 8 else { return call.setResultNull() }
        if kind == .int {
          call.setResult(bytes.loadUnaligned(as: Int64.self))
        } else {
          call.setResult(bytes.loadUnaligned(as: Double.self))
        }
      case .text: call.setResult(text: bytes)
      case .bytes: call.setResult(blob: bytes)
      }
    }
  }

  private static func value(_ number: Int, in packed: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    func word(_ index: Int) -> Int { Int(packed.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)) }
    // The blob is untrusted: SQL in the store's schema can call the function too.
    guard packed.count >= 4, number >= 0, number < word(0), (word(0) + 1) * 4 <= packed.count else { return nil }
    let values = (word(0) + 1) * 4
    let (start, end) = (values + (number == 0 ? 0 : word(number)), values + word(number + 1))
    guard start <= end, end <= packed.count else { return nil }
    return UnsafeRawBufferPointer(rebasing: packed[start..<end])
  }
}

extension ResolvedConstant {
  /// Returns the members of a list: its non-null values, or the unique keys of its objects in ascending order. A single value has no
  /// members.
  func list(in space: ObjectIDSpace) -> ValueList {
    switch self {
    case .slot, .object: return ValueList()
    case .objects(let ids):
      var list = ValueList(capacity: ids.count)
      var last: Int64?
      for key in ids.map(space.key).sortedKeys() where key != last {
        list.append(key)
        last = key
      }
      return list
    case .slots(let slots):
      var list = ValueList(capacity: slots.count)
      for slot in slots {
        switch slot {
        case .null: break
        case .int(let value): list.append(value)
        case .real(let value): list.append(value)
        case .text(var value): value.withUTF8 { list.append(text: UnsafeRawBufferPointer($0)) }
        case .bytes(let value): value.withUnsafeBytes { list.append(blob: $0) }
        }
      }
      return list
    }
  }
}
