import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The function that batch updates call.
enum BatchFunctions {
  private static let refusal = "cd_assign refuses a value"

  /// Makes it known to a connection.
  static func register(on connection: Connection, model: CompiledModel) throws {
    try connection.registerFunction(name: SQLFunctions.assign, argumentCount: 3) { call in
      let (number, index) = (Int(call.int64(0)), Int(call.int64(1)))
      guard model.entities.indices.contains(number), model.entities[number].slots.indices.contains(index) else {
        return call.setFailure(.refusal, refusal)
      }
      let entity = model.entities[number]
      do throws(BatchError) {
        SQLFunctions.set(try BatchUpdatePlan.assigned(SQLFunctions.slot(call, 2), to: entity.slots[index], of: entity), call)
      } catch {
        call.setFailure(.refusal, refusal)
      }
    }
  }

  /// Whether a statement failed because a value was refused.
  static func isRefusal(_ error: StoreAccessError) -> Bool { error.extendedCode == FunctionFailure.refusal.rawValue }
}
