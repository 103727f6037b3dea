// A store's code, to which rows, compiled models, the store contract and evaluation in memory are visible.
import CipherDataEngine
import Foundation

func sees(model: ManagedObjectModel, id: ManagedObjectID) throws -> RowList {
  let compiled = try CompiledModel(model)
  let writer = RowWriter(rowCapacity: 1)
  writer.beginRow(entityNumber: id.reference.entity, slotCount: compiled.entities[0].slots.count, key: id.reference.key, version: 1)
  let row: RowImage = writer.endRow()
  var mask = SlotMask()
  mask.insert(0)
  _ = SaveChangesRequest.Update(row: row, changedSlots: mask, oldVersion: 1)
  _ = try FetchEvaluation(FetchSpecification(entityName: "Book"), model: compiled)
  _ = DerivationEvaluation(model: compiled)
  _ = [any IncrementalStore.Type]()
  return writer.finish()
}
