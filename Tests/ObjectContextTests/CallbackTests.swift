import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The callbacks of objects and their order (row C20 and table 3c).
final class CallbackTests: XCTestCase {
  private func onNursery(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: Nursery.model, classes: Nursery.classes, body)
  }

  func testObjectLifecycleCallbacks() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let plant = try context.recorder("Plant", ["name": "rose"])
      try context.save()
      try plant.setValue("tulip", forKey: "name")
      try context.save()
      context.refresh(plant, mergeChanges: false)
      XCTAssertEqual(plant.text("name"), "tulip")
      context.delete(plant)
      try context.save()
      XCTAssertEqual(
        plant.log,
        [
          "awakeFromInsert", "willSave", "validateForInsert", "didSave", "willSave", "validateForUpdate", "didSave",
          "willTurnIntoFault false", "didTurnIntoFault true", "awakeFromFetch", "prepareForDeletion -", "willSave", "validateForDelete",
          "didSave",
        ])
    }
  }

  func testAwakeFromFetchIsCalledWhenTheFaultFires() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      try context.recorder("Plant", ["name": "rose"])
      try context.save()
      let plant = try XCTUnwrap(stack.makeContext().objects("Plant").first as? Recorder)
      XCTAssertEqual(plant.log, [])
      XCTAssertEqual(plant.text("name"), "rose")
      XCTAssertEqual(plant.text("name"), "rose")
      XCTAssertEqual(plant.log, ["awakeFromFetch"])
    }
  }

  func testValuesSetInAwakeFromFetchAreNotSaved() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      try context.recorder("Plant", ["name": "greeted"])
      try context.recorder("Plant", ["name": "defaced", "count": 1])
      try context.save()
      let other = stack.makeContext()
      let greeted = try other.named("greeted", "Plant")
      XCTAssertEqual(greeted.text("scratch"), "hello")
      let defaced = try other.named("defaced", "Plant")
      XCTAssertEqual(defaced["count"] as? Int64, 99)
      XCTAssertFalse(other.hasChanges)
      XCTAssertTrue(defaced.changedValues().isEmpty)
      XCTAssertFalse(defaced.hasPersistentChangedValues)
      try defaced.setValue("renamed", forKey: "name")
      try other.save()
      XCTAssertEqual(try stack.makeContext().named("renamed", "Plant")["count"] as? Int64, 1)
    }
  }

  func testCascadedObjectsAreNotifiedBeforeTheirRelationshipsAreCleared() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let bed = try context.recorder("Bed", ["name": "east"])
      let plant = try context.recorder("Plant", ["name": "rose", "bed": bed])
      try context.save()
      (bed.log, plant.log) = ([], [])
      context.delete(bed)
      XCTAssertEqual(bed.log, ["prepareForDeletion 1"])
      try context.save()
      XCTAssertEqual(bed.log, ["prepareForDeletion 1", "willSave", "validateForDelete", "didSave"])
      XCTAssertEqual(plant.log, ["prepareForDeletion east", "willSave", "validateForDelete", "didSave"])
    }
  }

  func testWillSaveCanAlwaysSetValuesOfItsObject() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let plant = try context.recorder("Plant", ["name": "rose"])
      plant.onWillSave = { try? $0.setValue((($0["count"] as? Int64) ?? 0) + 1, forKey: "count") }
      try context.save()
      XCTAssertEqual(plant["count"] as? Int64, 1)
      XCTAssertFalse(context.hasChanges)
      try plant.setValue("tulip", forKey: "name")
      try context.save()
      XCTAssertEqual(try stack.makeContext().named("tulip", "Plant")["count"] as? Int64, 2)
    }
  }

  func testObjectsChangedInWillSaveAreNotifiedAndSaved() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let (bed, plant) = (try context.recorder("Bed", ["name": "east"]), try context.recorder("Plant", ["name": "rose"]))
      try context.save()
      (bed.log, plant.log) = ([], [])
      plant.onWillSave = { _ in try? bed.setValue(Int64(7), forKey: "count") }
      try plant.setValue("tulip", forKey: "name")
      try context.save()
      XCTAssertEqual(bed.log, ["willSave", "validateForUpdate", "didSave"])
      XCTAssertEqual(try stack.makeContext().named("east", "Bed")["count"] as? Int64, 7)
    }
  }

  func testObjectChangedByAnotherWillSaveIsNotifiedAgain() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let (first, second) = (try context.recorder("Plant", ["name": "1"]), try context.recorder("Plant", ["name": "2"]))
      var isDone = false
      second.onWillSave = { _ in
        if !isDone { try? first.setValue(Int64(5), forKey: "count") }
        isDone = true
      }
      try context.save()
      XCTAssertEqual(first.log.filter { $0 == "willSave" }.count, 2)
      XCTAssertEqual(try stack.makeContext().named("1", "Plant")["count"] as? Int64, 5)
    }
  }

  func testEndlessWillSaveThrows() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let (first, second) = (try context.recorder("Plant", ["name": "1"]), try context.recorder("Plant", ["name": "2"]))
      first.onWillSave = { _ in try? second.setValue(Int64(1), forKey: "count") }
      second.onWillSave = { _ in try? first.setValue(Int64(1), forKey: "count") }
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .invalidRequest) }
      XCTAssertEqual(context.insertedObjects.count, 2)
      (first.onWillSave, second.onWillSave) = (nil, nil)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Plant").count, 2)
    }
  }

  func testWillSaveCanInsertAndDelete() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let old = try context.recorder("Plant", ["name": "old"])
      let plant = try context.recorder("Plant", ["name": "rose"])
      try context.save()
      var isDone = false
      plant.onWillSave = { _ in
        if isDone { return }
        isDone = true
        _ = try? context.make("Plant", ["name": "seedling"])
        context.delete(old)
      }
      try plant.setValue("tulip", forKey: "name")
      try context.save()
      XCTAssertEqual(Set(try stack.makeContext().objects("Plant").compactMap { $0.text("name") }), ["tulip", "seedling"])
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testValuesSetInDidSaveBelongToTheNextSave() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let plant = try context.recorder("Plant", ["name": "rose"])
      plant.onDidSave = {
        $0.onDidSave = nil
        try? $0.setValue(Int64(3), forKey: "count")
      }
      try context.save()
      XCTAssertTrue(context.hasChanges)
      XCTAssertEqual(context.updatedObjects, [plant])
      try context.save()
      XCTAssertEqual(try stack.makeContext().named("rose", "Plant")["count"] as? Int64, 3)
    }
  }

  func testEmptySaveCallsNothing() async throws {
    try await onNursery { stack in
      let context = stack.makeContext()
      let plant = try context.recorder("Plant", ["name": "rose"])
      try context.save()
      plant.log = []
      try context.save()
      XCTAssertEqual(plant.log, [])
    }
  }
}
