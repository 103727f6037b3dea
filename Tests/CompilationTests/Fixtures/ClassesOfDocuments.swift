// An application's declarations in addition to the classes generated for the documents Camera, HealthLog and Podcasts.
import CipherData
import Foundation

enum Rating: Int16, Sendable { case none, one, two, three, four, five }
enum Orientation: Int16, Sendable { case up = 1, right, down, left }
enum FileFormat: String, Sendable { case heic, jpeg, raw }
struct EditList: Codable, Hashable, Sendable { var names: [String] }

enum GoalKind: String, Sendable { case steps, sleep }
enum BloodType: Int, Sendable { case unknown, a, b, ab, o }
enum Activity: String, Sendable { case run, swim, other }
struct Schedule: Codable, Hashable, Sendable { var hours: [Int] }

enum DownloadState: Int16, Sendable { case waiting, running, done }
struct PodcastSettings: Codable, Hashable, Sendable { var skip = 30 }

func use(_ context: ManagedObjectContext) throws {
  let photo = Photo(context: context)
  photo.orientation = .left
  photo.rating = .three
  photo.exif = Exif(aperture: 1.8, camera: "A", iso: 100)
  photo.exif?.lens = "B"
  photo.place = Place(latitude: 1, longitude: 2, name: "C")
  let _: ExternalData? = photo.originalStream
  let best = Asset.all.where { $0.rating == .five && $0.exif.camera == "A" && $0.place != nil && $0.place.latitude > 5 }.sorted {
    $0.captured.descending
  }
  for asset in try context.fetch(best) { print(asset.exif?.iso ?? 0) }
  let _: [Photo] = try context.fetch(Photo.all.where { $0.orientation.isIn([.left, .right]) })

  let workout = Workout(context: context)
  workout.activity = .swim
  let point = RoutePoint(context: context)
  point.place = Coordinate(accuracy: 3, latitude: 1, longitude: 2)
  point.place.latitude = 5
  workout.route?.insertIntoPoints([point], at: 0)
  let person = Person(context: context)
  person.emergency = Contact(address: PostalAddress(city: "D"), name: "E")
  let near = RoutePoint.all.where {
    $0.place.latitude > 5 && $0.route.workout.activity == .run && $0.route.workout.person.emergency.address.city == "D"
  }
  print(try context.count(for: near), workout.route?.totalDistance ?? 0)

  let playlist = ManualPlaylist(context: context)
  let episode = Episode(context: context)
  playlist.addToEpisodes(episode)
  playlist.removeFromEpisodes(at: IndexSet([0]))
  print(episode.titleKey ?? "", episode.download?.state == .running)
}

func derivedIsReadOnly(_ episode: Episode) {
  episode.titleKey = "x"  // ERROR: get-only
}

func kindsAreKept(_ photo: Photo) throws {
  _ = Photo.all.where { $0.rating == 5 }  // ERROR: FetchRawField<Rating
  photo.place = Exif()  // ERROR: cannot assign
}
