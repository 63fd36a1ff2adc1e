"""Which frame an entity of a type gets: the types of schema.org that pages use, each under the kind it is a kind of."""

from __future__ import annotations

from functools import lru_cache

_KINDS = {
    "Product": "ProductGroup ProductModel IndividualProduct SomeProducts Vehicle Car Motorcycle Drug",
    "Offer": "AggregateOffer OfferForLease OfferForPurchase Demand",
    "Event": "Festival Hackathon CourseInstance EventSeries EventSeason",
    "Article": (
        "NewsArticle BlogPosting TechArticle ScholarlyArticle MedicalScholarlyArticle Report SocialMediaPosting "
        "DiscussionForumPosting LiveBlogPosting AnalysisNewsArticle AskPublicNewsArticle BackgroundNewsArticle "
        "OpinionNewsArticle ReportageNewsArticle ReviewNewsArticle AdvertiserContentArticle SatiricalArticle APIReference "
        "CreativeWork"
    ),
    "BreadcrumbList": "",
    "ItemList": "OfferCatalog",
    "FAQPage": "",
    "QAPage": "",
    "Question": "",
    "Organization": (
        "Corporation NGO NewsMediaOrganization EducationalOrganization CollegeOrUniversity School HighSchool MiddleSchool "
        "ElementarySchool Preschool GovernmentOrganization MedicalOrganization SportsOrganization SportsTeam "
        "PerformingGroup MusicGroup DanceGroup TheaterGroup Airline Consortium FundingScheme LibrarySystem Project "
        "ResearchProject OnlineBusiness ResearchOrganization PoliticalParty WorkersUnion OnlineMarketplace Brand "
        "FundingAgency SearchRescueOrganization"
    ),
    "LocalBusiness": (
        "Restaurant CafeOrCoffeeShop BarOrPub Bakery Brewery Distillery FastFoodRestaurant IceCreamShop Winery Hotel "
        "Motel Hostel Resort SkiResort BedAndBreakfast LodgingBusiness Campground VacationRental AnimalShelter "
        "ArchiveOrganization AutomotiveBusiness AutoDealer AutoRepair AutoRental AutoBodyShop AutoWash GasStation "
        "MotorcycleDealer ChildCare Dentist DryCleaningOrLaundry EmergencyService FireStation Hospital PoliceStation "
        "EmploymentAgency EntertainmentBusiness AdultEntertainment AmusementPark ArtGallery Casino ComedyClub "
        "MovieTheater NightClub FinancialService AccountingService AutomatedTeller BankOrCreditUnion InsuranceAgency "
        "HealthAndBeautyBusiness BeautySalon DaySpa HairSalon HealthClub NailSalon TattooParlor "
        "HomeAndConstructionBusiness Electrician GeneralContractor HVACBusiness HousePainter Locksmith MovingCompany "
        "Plumber RoofingContractor LegalService Attorney Notary Library MedicalBusiness MedicalClinic Optician Pharmacy "
        "Physician Dermatology VeterinaryCare PublicSwimmingPool ProfessionalService RadioStation RealEstateAgent "
        "RecyclingCenter SelfStorage ShoppingCenter SportsActivityLocation BowlingAlley ExerciseGym GolfCourse SportsClub "
        "StadiumOrArena TennisComplex TelevisionStation TouristInformationCenter TravelAgency OnlineStore "
        "FoodEstablishment DiagnosticLab CovidTestingFacility Florist InternetCafe"
    ),
    "Place": (
        "AdministrativeArea City Country State LandmarksOrHistoricalBuildings TouristAttraction TouristDestination "
        "Accommodation Apartment House Residence CivicStructure Park Museum Airport Beach Landform Lake Mountain"
    ),
    "Person": "Patient",
    "Recipe": "",
    "HowTo": "",
    "JobPosting": "",
    "VideoObject": "Clip VideoObjectSnapshot",
    "Review": "CriticReview EmployerReview UserReview MediaReview ClaimReview Recommendation",
    "Rating": "AggregateRating EmployerAggregateRating EndorsementRating",
    "WebSite": "",
    "WebPage": (
        "AboutPage CheckoutPage CollectionPage ContactPage ItemPage MedicalWebPage ProfilePage RealEstateListing "
        "SearchResultsPage MediaGallery ImageGallery Blog"
    ),
    "SoftwareApplication": "MobileApplication WebApplication VideoGame SoftwareSourceCode OperatingSystem",
    "Book": "Audiobook Chapter ComicIssue PublicationVolume",
    "Movie": ("TVSeries TVEpisode TVSeason MovieSeries Episode CreativeWorkSeries PodcastEpisode PodcastSeries RadioSeries"),
    "Music": "MusicAlbum MusicRecording MusicPlaylist MusicRelease MusicComposition",
    "Course": "EducationalOccupationalProgram LearningResource",
    "Dataset": "DataCatalog DataFeed",
    "Service": (
        "GovernmentService FinancialProduct BroadcastService CableOrSatelliteService FoodService Taxi TaxiService WebAPI"
    ),
}
_KIND = {name: kind for kind, names in _KINDS.items() for name in (kind, *names.split())}
_BY_ENDING = {
    "Event": "Event", "Store": "LocalBusiness", "Shop": "LocalBusiness", "Restaurant": "LocalBusiness",
    "Business": "LocalBusiness", "Article": "Article", "Posting": "Article", "Review": "Review", "Page": "WebPage",
    "Organization": "Organization", "Application": "SoftwareApplication", "Product": "Product",
}  # fmt: skip
_VAGUE = frozenset({"Place", "Organization", "WebPage", "Article", "Service", "ItemList"})
"""Kinds that give way when a thing has a second type which says more."""

INNER = frozenset({
    "Product", "Event", "Recipe", "HowTo", "JobPosting", "VideoObject", "BreadcrumbList", "FAQPage", "QAPage", "Article",
    "SoftwareApplication", "Course", "Book", "LocalBusiness",
})  # fmt: skip
"""What is laid out even within another entity: a page's main thing often stands there."""

OPENGRAPH = {
    "article": "Article", "product": "Product", "book": "Book", "books": "Book", "profile": "Person", "video": "VideoObject",
    "video.movie": "Movie", "video.tv_show": "Movie", "video.episode": "Movie", "music": "Music", "website": "WebSite",
    "blog": "WebSite", "event": "Event", "recipe": "Recipe", "business": "LocalBusiness", "place": "Place",
    "restaurant": "LocalBusiness",
}  # fmt: skip
"""What the types of Open Graph are among these kinds."""


@lru_cache(maxsize=256)
def kind_of(types: tuple[str, ...]) -> str:
    """The kind of the first type that has one, the most telling one of several; empty when none has."""
    found = ""
    for name in types:
        kind = _KIND.get(name) or next((kind for ending, kind in _BY_ENDING.items() if name.endswith(ending)), "")
        if kind and (not found or found in _VAGUE) and not (kind in _VAGUE and found):
            found = kind
    return found
