import ObjectModel
import SQLCipherConnection

/// The SQL function `cd_convert(value, older type, newer type)`, which converts stored values to another attribute type. It returns NULL if
/// the newer type has no such value.
enum ValueConversion {
  private static let name = "cd_convert"
  private static let types = AttributeType.allCases

  static func call(_ value: String, from older: AttributeType, to newer: AttributeType) -> String {
    "\(name)(\(value), \(number(older)), \(number(newer)))"
  }

  private static func number(_ type: AttributeType) -> Int { types.firstIndex(of: type) ?? 0 }

  /// Registers the function on a connection that migrates a store or plans a migration.
  static func register(on connection: Connection) throws {
    try connection.registerFunction(name: name, argumentCount: 3) { call in
      let (older, newer) = (Int(call.int64(1)), Int(call.int64(2)))
      guard types.indices.contains(older), types.indices.contains(newer) else { return call.setResultNull() }
      SQLFunctions.set(types[older].converted(SQLFunctions.slot(call, 0), to: types[newer]) ?? .null, call)
    }
  }
}
