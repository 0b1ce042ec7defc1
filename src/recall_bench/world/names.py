"""First and last names for casts of other seeds. None is an ordinary English word."""

FEMALE_NAMES = (
    "Adaeze Agnieszka Aiko Amara Anneke Anoushka Astrid Beatriz Birgit Bronwen Camila Carmela "
    "Catarina Chiara Delphine Dilnoza Dorota Eilidh Eleni Elodie Emiko Farida Fiadh Fatoumata "
    "Gaia Genoveva Giulia Gudrun Hanako Henrietta Ileana Ines Ingrid Ioana Isolde Jadwiga "
    "Johanna Kalpana Katarzyna Keiko Lakshmi Leilani Liesbeth Ludmila Magdalena Malika "
    "Marguerite Mehret Mirela Nadezhda Nkechi Noor Oksana Olamide Paloma Perpetua Radhika "
    "Ragnhild Rosalind Roxana Saoirse Shirin Sigrid Solveig Sunniva Svetlana Tamsin Thandiwe "
    "Tove Ulrike Vesna Xiomara Yevgenia Yolanda Zainab Zofia "
).split()

MALE_NAMES = (
    "Abelardo Aleksander Alistair Anselm Arjun Arvid Baltasar Bartosz Benoit Bogdan Casimir "
    "Ciaran Cormac Cuthbert Dariusz Dimitri Eamon Egil Emeka Enrique Esteban Evander Fabrizio "
    "Farhad Fergus Florian Gianluca Goran Gunnar Hamish Haruto Henrik Hiroshi Ignacio Ismail "
    "Istvan Jarek Jorgen Kaito Kofi Kwabena Laszlo Leopold Lorcan Lucian Magnus Mateusz "
    "Matthias Mikhail Mohan Nikhil Oisin Olufemi Osvaldo Padraig Pavel Rafiq Ragnar Rutger "
    "Sandeep Sebastien Sergei Stellan Takumi Tarek Thaddeus Tiberiu Tobias Ulrich Vasily Vikram "
    "Wendell Yannick Yaw Yusuf Zbigniew "
).split()

LAST_NAMES = (
    "Abernathy Achterberg Adeyinka Alvarsson Amundsen Anand Arbuthnot Aszkenazy Baptiste "
    "Barcroft Bielski Boateng Brankovic Calloway Castellano Chukwuma Cieslak Corrigan Dabrowski "
    "Dahlgren Dalgaard Delacroix Demirci Deshmukh Dragomir Dziedzic Ekström Elphinstone "
    "Engelhardt Eszterhazy Fairweather Farquhar Featherstone Fernandes Fitzwilliam Fujimori "
    "Gallagher Ganguly Georgiou Goncalves Grzelak Gutierrez Halvorsen Hanrahan Hashemi "
    "Hendricks Hoekstra Horvath Ibekwe Ishikawa Jablonski Jankowski Jaramillo Johannsen "
    "Kaczmarek Kallergis Karlsen Katayama Kavanagh Khoury Kowalczyk Kristiansen Kulkarni "
    "Lachlan Lagerqvist Larrabee Leclair Lindqvist Ljungberg Lombardi Macalister Maldonado "
    "Marchetti Mbeki Mcallister Mihailov Moravec Mukherjee Nakagawa Ndiaye Nedved Novotny Nwosu "
    "Obradovic Ogilvie Olander Oyelaran Palmqvist Papadakis Pellegrini Petrosyan Pietersen "
    "Quintero Ramaswamy Rasmussen Renwick Rodrigues Rosenqvist Rutherford Sadowski Saavedra "
    "Sandoval Satterthwaite Schreiber Sigurdsson Sokolova Stavrou Szymanski Takahashi Tennant "
    "Thorvaldsen Tremblay Trevelyan Uzoma Valderrama Vandenberg Vasquez Venkatesan Villanueva "
    "Wachowski Wadsworth Wakefield Weatherby Wickramasinghe Wojcik Yamamoto Zdravkov Zielinski "
    "Zubiri "
).split()
