// An application, to which the types for authors of stores are not visible.
import CipherData
import Foundation

func sees(model: ManagedObjectModel, id: ManagedObjectID) throws {
  let _: RowImage? = nil  // ERROR: cannot find type 'RowImage' in scope
  let _: RowWriter? = nil  // ERROR: cannot find type 'RowWriter' in scope
  let _: SlotMask? = nil  // ERROR: cannot find type 'SlotMask' in scope
  let _: SaveChangesRequest? = nil  // ERROR: cannot find type 'SaveChangesRequest' in scope
  let _: (any IncrementalStore)? = nil  // ERROR: cannot find type 'IncrementalStore' in scope
  _ = try CompiledModel(model)  // ERROR: cannot find 'CompiledModel' in scope
  let _: FetchEvaluation? = nil  // ERROR: cannot find type 'FetchEvaluation' in scope
  let _: BatchEvaluation? = nil  // ERROR: cannot find type 'BatchEvaluation' in scope
  let _: DerivationEvaluation? = nil  // ERROR: cannot find type 'DerivationEvaluation' in scope
  let _: CipherData.RowImage? = nil  // ERROR: no type named 'RowImage' in module 'CipherData'
  let _: SQLCipherIncrementalStore? = nil  // ERROR: cannot find type 'SQLCipherIncrementalStore' in scope
}
