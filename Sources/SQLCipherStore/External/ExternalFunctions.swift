import Foundation
import SQLCipherConnection
import StoreFiles
import StoreKeys

/// The SQL functions through which statements read and store large values.
enum ExternalFunctions {
  private static let unreadable = "the file of a large value cannot be read"

  static func register(on connection: Connection, folder: ExternalFolder) throws {
    connection.externalFolder = folder
    try connection.registerFunction(name: SQLFunctions.keep, argumentCount: 1, deterministic: false) {
      [attachment = connection.attachment] call in
      guard call.type(0) == .blob, let transaction = attachment.object as? ExternalTransaction else {
        return call.setResult(argument: 0)
      }
      do {
        if let id = try transaction.numberInStatement(call.blob(0)) { call.setResult(id) } else { call.setResult(argument: 0) }
      } catch {
        call.setError("a large value cannot be kept")
      }
    }
    try connection.registerFunction(name: SQLFunctions.data, argumentCount: 1, deterministic: false) { call in
      guard call.type(0) == .integer else { return call.setResult(argument: 0) }
      do {
        let reader = try folder.openFile(id: call.int64(0))
        var data = Data(capacity: reader.count)
        while let chunk = try reader.next() { data.append(chunk) }
        data.withUnsafeBytes { call.setResult(blob: $0) }
      } catch let error as StoreAccessError {
        if error.kind == .outOfMemory { return call.setOutOfMemory() }
        call.setFailure(error.kind == .externalDataMissing ? .externalMissing : .externalDamaged, unreadable)
      } catch {
        call.setFailure(.externalDamaged, unreadable)
      }
    }
  }
}
