import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The SQL function that converts computed values to attribute values by the same rules as in memory. Batch updates call it.
enum BatchFunctions {
  private static let rejection = "cd_assign refuses a value"

  static func register(on connection: Connection, model: CompiledModel) throws {
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
